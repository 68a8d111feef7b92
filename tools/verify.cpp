#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/given_inputs.h"
#include "tools/printable.h"
#include "tools/verification.h"

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
  VerifyTolerance tolerance;
};

Result<int> run_verify(const VerifyArguments& arguments, const CommonOptions& common) {
  PLICA_TRY(const Model model, Model::load(arguments.model, common.load_options()));
  PLICA_TRY(const std::vector<Tensor> inputs, given_inputs(model, arguments.inputs));
  PLICA_TRY(const std::vector<VerifiedOutput> outputs, verify(*model.state(), inputs, arguments.tolerance));
  for (const VerifiedOutput& output : outputs) {
    const Difference& difference = output.difference;
    std::printf("%-9s %s %s: largest difference %.3g, relative to 1 + |x| %.3g%s%s\n",
                difference.within ? "agrees" : "DIFFERS", printable(output.name).c_str(),
                to_string(output.type).c_str(), difference.largest, difference.relative, difference.within ? "" : "; ",
                difference.sentence.c_str());
  }
  return exit_code(outputs);
}

}  // namespace

Command add_verify(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* app = add_command(program, "verify", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  add_input_options(*app, arguments->inputs);
  app->add_option("--rtol", arguments->tolerance.relative, "Allowed: atol + rtol * |x| [1e-4; 2e-2 for f16 and bf16]")
      ->check(at_least(0));
  app->add_option("--atol", arguments->tolerance.absolute, "As --rtol")->check(at_least(0));
  return {app, [arguments, &common] { return exit_code_of([&] { return run_verify(*arguments, common); }); }};
}

}  // namespace plica
