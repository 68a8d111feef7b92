#include "tools/verification.h"

#include <algorithm>
#include <memory>

#include "runtime/api/model_state.h"
#include "runtime/core/dtype.h"
#include "runtime/core/result.h"
#include "runtime/exec/plan_runner.h"
#include "tools/command.h"

namespace plica {
namespace {

// The outputs of one run of a plan, in the host's memory. Owns what they lie in.
struct PlanRun {
  std::shared_ptr<const Planned> planned;
  std::unique_ptr<PlanRunner> runner;
  std::vector<TensorView> outputs;
};

Result<PlanRun> run_plan(std::shared_ptr<const Planned> planned, const std::shared_ptr<DeviceContext>& context,
                         const std::vector<TensorView>& inputs) {
  PlanRun run;
  run.planned = std::move(planned);
  PLICA_TRY(run.runner, make_runner(context));
  PLICA_CHECK(run.runner->prepare(run.planned->plan));
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(run.runner->bind_input(i, inputs[i].data));
  PLICA_CHECK(run.runner->run());
  const std::vector<TensorType>& types = run.planned->plan->outputs;
  for (size_t i = 0; i < types.size(); ++i) run.outputs.push_back({types[i], run.runner->output(i)});
  return run;
}

// On the CPU, whatever the model's device.
Result<PlanRun> run_plain(Model::State& model, const std::vector<TensorView>& inputs) {
  PlanOptions options;
  options.reference = true;
  PlanCache plans(model.source, options, model.constants, 1);
  PLICA_TRY(std::shared_ptr<const Planned> planned, plans.get(inputs));
  return run_plan(std::move(planned), host_context(1), inputs);
}

Tolerance tolerance_for(DType dtype, const VerifyTolerance& given) {
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  Tolerance tolerance{half ? 2e-2 : 1e-4, half ? 2e-2 : 1e-4};
  if (given.relative >= 0) tolerance.relative = given.relative;
  if (given.absolute >= 0) tolerance.absolute = given.absolute;
  return tolerance;
}

}  // namespace

Result<std::vector<VerifiedOutput>> verify(Model::State& model, const std::vector<Tensor>& inputs,
                                           const VerifyTolerance& tolerance) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : inputs) views.push_back(tensor.view());
  PLICA_TRY(std::shared_ptr<const Planned> planned, model.plan(views));
  PLICA_TRY(const PlanRun found, run_plan(std::move(planned), model.context, views));
  PLICA_TRY(const PlanRun plain, run_plain(model, views).context("running the reference plan"));
  std::vector<VerifiedOutput> outputs;
  for (size_t i = 0; i < plain.outputs.size(); ++i) {
    const TensorView& output = found.outputs[i];
    outputs.push_back({model.outputs[i].name, output.type,
                       compare(output, plain.outputs[i], tolerance_for(output.type.dtype, tolerance))});
  }
  return outputs;
}

int exit_code(const std::vector<VerifiedOutput>& outputs) {
  const bool agree =
      std::all_of(outputs.begin(), outputs.end(), [](const VerifiedOutput& o) { return o.difference.within; });
  return agree ? kDone : kPartly;
}

}  // namespace plica
