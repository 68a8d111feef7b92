#include "runtime/exec/executor.h"

#include <chrono>

#include "runtime/exec/team_size.h"

namespace plica {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Error to_error(const Fault& fault, const Step& step) {
  const std::string limit = std::to_string(fault.limit);
  std::string text(step.op->name);
  text.append(" '").append(step.name).append("': ").append(fault.what).append(" ").append(std::to_string(fault.found));
  text.append(", wanted -").append(limit).append(" <= ").append(fault.what).append(" < ").append(limit);
  return Error(Code::kInvalidInput, std::move(text));
}

Status Executor::run(std::span<double> step_ms) {
  const TeamSize team(plan_->device.num_threads);
  Fault fault;
  KernelArgs args;
  args.fault = &fault;
  args.num_threads = plan_->device.num_threads;
  double last_ms = step_ms.empty() ? 0 : now_ms();
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    operands_.fill(i, args);
    step.kernel->run(step.attrs.get(), args);
    if (fault.what != nullptr) return to_error(fault, step);
    if (step_ms.empty()) continue;
    const double ms = now_ms();
    step_ms[i] = ms - last_ms;
    last_ms = ms;
  }
  return {};
}

}  // namespace plica
