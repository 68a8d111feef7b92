#include "tests/harness/test_device.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/exec/plan_runner.h"

namespace plica {

std::string test_device() {
  const char* given = std::getenv("PLICA_TEST_DEVICE");
  return given != nullptr && *given != 0 ? given : "cpu";
}

const std::shared_ptr<DeviceContext>& test_context() {
  static const std::shared_ptr<DeviceContext> context = [] {
    auto opened = open_device(test_device(), 1);
    if (!opened) throw std::runtime_error("PLICA_TEST_DEVICE: " + to_string(opened.error()));
    return *opened;
  }();
  return context;
}

PlanOptions on_test_device(PlanOptions options) {
  if (tests_the_cpu()) return options;
  options.context = test_context();
  options.device = options.context->traits();
  return options;
}

Result<std::vector<Tensor>> run_on_test_device(std::shared_ptr<const Plan> plan, const std::vector<Tensor>& inputs) {
  PLICA_TRY(const std::unique_ptr<PlanRunner> runner, make_runner(test_context()));
  PLICA_CHECK(runner->prepare(plan));
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(runner->bind_input(i, inputs[i].data()));
  PLICA_CHECK(runner->run());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    PLICA_TRY(Tensor output, Tensor::zeros(plan->outputs[i].dtype, plan->outputs[i].shape));
    if (output.num_bytes() > 0) std::memcpy(output.data(), runner->output(i), output.num_bytes());
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace plica
