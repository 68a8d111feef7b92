#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/plan.h"

namespace plica {

// The device that tests run plans and models on: PLICA_TEST_DEVICE in the environment ("cuda:0"), else "cpu".
std::string test_device();
inline bool tests_the_cpu() { return test_device() == "cpu"; }

// The device, opened once a process; a test that asks for one that is not there fails by an exception.
const std::shared_ptr<DeviceContext>& test_context();

// The options with that device.
PlanOptions on_test_device(PlanOptions options = {});

// The outputs of one run there of a plan made with such options.
Result<std::vector<Tensor>> run_on_test_device(std::shared_ptr<const Plan> plan, const std::vector<Tensor>& inputs);

}  // namespace plica
