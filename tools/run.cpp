#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <set>

#include "loaders/array/npz.h"
#include "plica/session.h"
#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/input_arrays.h"
#include "tools/printable.h"

namespace plica {
namespace {

constexpr const char* kSummary = "Run any model on given arrays.";
constexpr const char* kDetails =
    "  plica run model.onnx --inputs inputs.npz -o outputs.npz\n"
    "      inputs.npz holds an array for each input, under its name; outputs.npz gets one for each output\n"
    "  plica run model.onnx --inputs test_data_set_0 -o outputs.npz\n"
    "      input_0.pb, input_1.pb ... of an ONNX test, in the order of the inputs\n"
    "  plica run model.onnx --inputs inputs.npz -o outputs.npz --outputs last_hidden_state\n"
    "      this output alone; what only others need is not computed\n"
    "\n"
    "`plica info model.onnx` lists the names, types and shapes.";

struct RunArguments {
  std::string model;
  std::string inputs;
  std::string output;
  std::vector<std::string> outputs;
};

Result<int> run_model(const RunArguments& arguments, const CommonOptions& common) {
  PLICA_CHECK(check_output_path(arguments.output, {arguments.model, arguments.inputs}));
  PLICA_TRY(const Model model, load_model(arguments.model, arguments.outputs, common));
  PLICA_TRY(const TensorMap inputs, read_inputs(arguments.inputs, model.inputs()));
  PLICA_TRY(NpzWriter writer, NpzWriter::create(arguments.output));
  PLICA_TRY(Session session, model.session());
  PLICA_TRY(const auto outputs, session.run(inputs));
  std::set<std::string_view> names;  // a file may list an output twice
  for (const TensorInfo& info : model.outputs()) {
    if (!names.insert(info.name).second) continue;
    const auto found = outputs.find(info.name);
    if (found == outputs.end()) return Error(Code::kInternal, "the run gave no output '" + info.name + "'");
    PLICA_CHECK(writer.add(info.name, found->second.view()));
    std::printf("%s %s\n", printable(info.name).c_str(), to_string(found->second.type()).c_str());
  }
  PLICA_CHECK(writer.commit());
  return kDone;
}

}  // namespace

Command add_run(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* app = add_command(program, "run", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  app->add_option("--inputs", arguments->inputs, "An .npz file, or a folder with input_N.pb")->required();
  app->add_option("-o,--out", arguments->output, "The .npz file to write")->required();
  add_outputs_option(*app, arguments->outputs);
  return {app, [arguments, &common] { return exit_code_of([&] { return run_model(*arguments, common); }); }};
}

}  // namespace plica
