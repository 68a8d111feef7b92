#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/core/dtype.h"
#include "runtime/core/result.h"
#include "runtime/device/arena.h"
#include "runtime/exec/executor.h"
#include "tools/allclose.h"
#include "tools/command.h"
#include "tools/given_inputs.h"

namespace plica {
namespace {

constexpr const char* kSummary = "Check the fused, fast run of a model against its plain one.";
constexpr const char* kDetails =
    "  plica verify esm2.onnx --shape input_ids=2x128\n"
    "      runs on made numbers: residues for token inputs, masks that hide the last quarter of each row\n"
    "  plica verify model.onnx --inputs inputs.npz\n"
    "\n"
    "The model runs twice: as always, and by a plan without fusion that holds reference kernels only. For each output "
    "the\n"
    "largest difference is told. Exit code: 0 when all agree, 1 when one does not.";

struct VerifyArguments {
  std::string model;
  InputArguments inputs;
  double rtol = -1;
  double atol = -1;
};

// The outputs of the plain plan. Owns what they lie in.
struct PlainRun {
  std::shared_ptr<const Planned> planned;
  Arena arena;
  std::vector<TensorView> outputs;
};

Result<PlainRun> run_plain(const Model& model, const std::vector<Tensor>& inputs) {
  Model::State& state = *model.state();
  PlanOptions options;
  options.reference = true;
  PlanCache plans(state.source, options, state.constants, 1);
  std::vector<TensorView> views;
  for (const Tensor& tensor : inputs) views.push_back(tensor.view());
  PlainRun run;
  PLICA_TRY(run.planned, plans.get(views));
  PLICA_CHECK(run.arena.grow(std::max<size_t>(run.planned->plan->arena_bytes, 1)));
  Executor executor(run.planned->plan, run.arena.base());
  for (size_t i = 0; i < views.size(); ++i) executor.bind_input(i, views[i].data);
  PLICA_CHECK(executor.run());
  for (size_t i = 0; i < run.planned->plan->outputs.size(); ++i)
    run.outputs.push_back({run.planned->plan->outputs[i], executor.output(i)});
  return run;
}

Tolerance tolerance_for(DType dtype, const VerifyArguments& arguments) {
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  Tolerance tolerance{half ? 2e-2 : 1e-4, half ? 2e-2 : 1e-4};
  if (arguments.rtol >= 0) tolerance.relative = arguments.rtol;
  if (arguments.atol >= 0) tolerance.absolute = arguments.atol;
  return tolerance;
}

Result<int> verify(const VerifyArguments& arguments, const CommonOptions& common) {
  PLICA_TRY(const Model model, Model::load(arguments.model, common.load_options()));
  PLICA_TRY(const std::vector<Tensor> inputs, given_inputs(model, arguments.inputs));
  PLICA_TRY(Session session, model.session());
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i].view()));
  PLICA_CHECK(session.run());
  PLICA_TRY(const PlainRun plain, run_plain(model, inputs).context("running the reference plan"));
  bool agree = true;
  for (size_t i = 0; i < plain.outputs.size(); ++i) {
    const TensorView& found = session.outputs()[i];
    const Difference difference = compare(found, plain.outputs[i], tolerance_for(found.type.dtype, arguments));
    agree &= difference.within;
    std::printf("%-9s %s %s: largest difference %.3g, relative to 1 + |x| %.3g%s%s\n",
                difference.within ? "agrees" : "DIFFERS", model.outputs()[i].name.c_str(),
                to_string(found.type).c_str(), difference.largest, difference.relative, difference.within ? "" : "; ",
                difference.sentence.c_str());
  }
  return agree ? kDone : kPartly;
}

}  // namespace

Command add_verify(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* app = add_command(program, "verify", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  add_input_options(*app, arguments->inputs);
  app->add_option("--rtol", arguments->rtol, "Allowed: atol + rtol * |x| [1e-4; 2e-2 for f16 and bf16]")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--atol", arguments->atol, "As --rtol")->check(CLI::NonNegativeNumber);
  return {app, [arguments, &common] { return exit_code_of([&] { return verify(*arguments, common); }); }};
}

}  // namespace plica
