#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/explain_why.h"
#include "tools/given_inputs.h"
#include "tools/printable.h"

namespace plica {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSummary =
    "Show every step of a model's plan: operator, kernel, shapes, bytes, and why other kernels declined.";
constexpr const char* kDetails =
    "  plica explain esm2.onnx --shape input_ids=1x128\n"
    "  plica explain model.onnx --inputs inputs.npz --json | jq .structures\n"
    "  plica explain esm2.onnx --shape input_ids=8x512 --memory\n"
    "      also what lies where in the arena at which step\n"
    "  plica explain model.onnx --shape x=1x64x32 --why /layer/Softmax\n"
    "      what became of this node of the file, which fusions came near it, and what stood in their way\n"
    "\n"
    "Structures are attention, embedding, gelu, if, layer_norm, outer_product_mean, relative_position, rms_norm, "
    "rotary, "
    "swiglu, top_k, transition and triangle_multiplication. Of the attention found, \"biased\" has a bias that is more "
    "than "
    "a mask, \"gated\" counts sigmoid gates on its way to the residual stream, \"attention_weights_out\" has weights "
    "that "
    "are read elsewhere, \"tied_row_attention\" scores summed over rows, \"global_query\" a query from a mean; of the "
    "relative positions, \"relative_position_bias\" is looked up in a table.\n"
    "\n"
    "In JSON: \"structures\" (how many of each were found), \"steps\", \"runs\" (steps \"first\" to \"last\" are one "
    "launch\n"
    "by \"kernel\"), \"arena_bytes\", "
    "\"inner_bytes\" (of it, where inputs and outputs are bound), \"weights_bytes\", "
    "\"plan_ms\".";

struct ExplainArguments {
  std::string model;
  InputArguments inputs;
  std::vector<std::string> outputs;
  std::string why;
  bool json = false;
  bool memory = false;
};

std::string types_of(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places)
    text += (text.empty() ? "" : ", ") + (place.kind == Place::Kind::kAbsent ? "-" : to_string(place.type));
  return text;
}

ordered_json json_of(const std::vector<Place>& places) {
  ordered_json list = ordered_json::array();
  for (const Place& place : places) {
    if (place.kind == Place::Kind::kAbsent) {
      list.push_back(nullptr);
      continue;
    }
    ordered_json operand = {{"dtype", name_of(place.type.dtype)}, {"shape", place.type.shape}};
    if (!place.type.strides.empty()) operand["strides"] = place.type.strides;
    if (place.kind == Place::Kind::kConstant || place.kind == Place::Kind::kTable) operand["constant"] = true;
    list.push_back(std::move(operand));
  }
  return list;
}

ordered_json json_of(const Step& step, const std::string& device) {
  ordered_json declined = ordered_json::array();
  for (const Declined& other : step.declined) declined.push_back({{"kernel", other.kernel}, {"why", other.why}});
  return {{"op", step.op->name},
          {"kernel", step.kernel->name},
          {"device", device},
          {"node", step.name},
          {"attributes", to_string(step.attrs)},
          {"inputs", json_of(step.in)},
          {"outputs", json_of(step.out)},
          {"flops", step.cost.flops},
          {"bytes", step.cost.bytes},
          {"scratch_bytes", step.scratch_bytes},
          {"declined", std::move(declined)}};
}

void print_json(const Plan& plan) {
  ordered_json structures = ordered_json::object();
  for (const auto& [name, count] : plan.structures) structures[name] = count;
  ordered_json steps = ordered_json::array();
  for (const Step& step : plan.steps) steps.push_back(json_of(step, plan.device_name));
  ordered_json runs = ordered_json::array();
  for (const StepRun& run : plan.runs)
    runs.push_back({{"kernel", run.kernel->name},
                    {"first", run.first},
                    {"last", run.last()},
                    {"scratch_bytes", run.scratch_bytes}});
  const ordered_json root = {{"structures", std::move(structures)},
                             {"steps", std::move(steps)},
                             {"runs", std::move(runs)},
                             {"arena_bytes", plan.arena_bytes},
                             {"inner_bytes", plan.inner_bytes},
                             {"weights_bytes", plan.weights_bytes},
                             {"plan_ms", plan.plan_ms}};
  std::printf("%s\n", root.dump(1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void print_text(const Plan& plan, bool memory) {
  constexpr double kMiB = 1048576;
  std::printf(
      "%zu steps on %s, arena %.2f MiB (%.2f beside inputs and outputs), weights %.2f MiB, planned in %.1f ms\n",
      plan.steps.size(), plan.device_name.c_str(), static_cast<double>(plan.arena_bytes) / kMiB,
      static_cast<double>(plan.inner_bytes) / kMiB, static_cast<double>(plan.weights_bytes) / kMiB, plan.plan_ms);
  std::printf("structures:");
  for (const auto& [name, count] : plan.structures) std::printf(" %s %d", name.c_str(), count);
  std::printf("%s\n", plan.structures.empty() ? " none" : "");
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (const StepRun* run = plan.run_of(i); run != nullptr && run->first == i)
      std::printf("%s, not by a kernel each:\n", to_text(*run).c_str());
    std::printf("%4zu  %s.%s%s  %s <- %s  %.1f KiB", i, std::string(step.op->name).c_str(),
                std::string(step.kernel->name).c_str(), to_string(step.attrs).c_str(), types_of(step.out).c_str(),
                types_of(step.in).c_str(), step.cost.bytes / 1024);
    if (step.cost.flops > 0) std::printf(", %.2f Mflop", step.cost.flops / 1e6);
    if (!step.name.empty()) std::printf("  '%s'", printable(step.name).c_str());
    std::printf("\n");
    for (const Declined& other : step.declined)
      std::printf("        not %s: %s\n", std::string(other.kernel).c_str(), other.why.c_str());
  }
  if (memory) std::printf("%s", to_text(plan.lifetimes, plan.memory).c_str());
}

Result<int> explain(const ExplainArguments& arguments, const CommonOptions& common) {
  PLICA_TRY(const Model model, load_model(arguments.model, arguments.outputs, common));
  PLICA_TRY(const std::vector<Tensor> inputs, given_inputs(model, arguments.inputs));
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLICA_CHECK(model.state()->check_input(i, inputs[i].type()));
    views.push_back(inputs[i].view());
  }
  PLICA_TRY(const auto planned, model.state()->plan(views));
  if (!arguments.why.empty()) {
    PLICA_TRY(const std::string text, explain_why(*model.state(), planned->signature, arguments.why));
    std::printf("%s", printable(text, Lines::kKeep).c_str());
    return kDone;
  }
  if (arguments.json) {
    print_json(*planned->plan);
  } else {
    print_text(*planned->plan, arguments.memory);
  }
  return kDone;
}

}  // namespace

Command add_explain(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* app = add_command(program, "explain", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  add_input_options(*app, arguments->inputs);
  add_outputs_option(*app, arguments->outputs);
  app->add_option("--why", arguments->why, "Name of a node of the file: why it was not fused further");
  app->add_flag("--json", arguments->json, "As JSON");
  app->add_flag("--memory", arguments->memory, "Also the table of the arena");
  return {app, [arguments, &common] { return exit_code_of([&] { return explain(*arguments, common); }); }};
}

}  // namespace plica
