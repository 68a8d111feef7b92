#include "runtime/exec/plan_runner.h"

#include "runtime/exec/host_runner.h"
#include "runtime/exec/queued_runner.h"

namespace plica {

Result<std::unique_ptr<PlanRunner>> make_runner(const std::shared_ptr<DeviceContext>& context) {
  PLICA_TRY(std::unique_ptr<DeviceQueue> queue, context->make_queue());
  if (queue == nullptr) return std::unique_ptr<PlanRunner>(std::make_unique<HostRunner>());
  return std::unique_ptr<PlanRunner>(std::make_unique<QueuedRunner>(context, std::move(queue)));
}

}  // namespace plica
