#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "loaders/onnx/lower.h"
#include "loaders/onnx/module.h"
#include "runtime/core/result.h"
#include "runtime/core/shape.h"
#include "tools/command.h"
#include "tools/input_shapes.h"
#include "tools/printable.h"

namespace plica {
namespace {

using nlohmann::ordered_json;
using onnx::Module;

constexpr const char* kSummary = "Show what a model takes, gives and holds, and what of it this build cannot run.";
constexpr const char* kDetails =
    "  plica info esm2.onnx\n"
    "  plica info esm2.onnx --shape input_ids=8x512      also the memory that a run of this size needs\n"
    "  plica info model.onnx --json | jq .unsupported";

struct InfoArguments {
  std::string model;
  std::vector<std::string> shapes;
  bool json = false;
};

std::string describe(const onnx::Body::Port& port) {
  const onnx::ValueType& type = port.type;
  std::string text = port.name + " " + (type.kind == "tensor" ? "" : std::string(type.kind) + " of ") +
                     (type.dtype_name.empty() ? "unknown type" : type.dtype_name);
  if (!type.ranked) return text + ", any shape";
  if (type.dims.empty()) return text + " scalar";
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    const onnx::Dim& dim = type.dims[axis];
    text += axis == 0 ? " " : " x ";
    text += dim.size >= 0 ? std::to_string(dim.size) : dim.name.empty() ? "?" : dim.name;
  }
  return text;
}

// How often each operator stands in the model, bodies of If, Loop and Scan included.
std::map<std::string, int> count_operators(const Module& module) {
  std::map<std::string, int> counts;
  for (const onnx::Body& body : module.bodies)
    for (const onnx::Node& node : body.nodes) {
      const onnx::Op& op = module.op_of(node);
      ++counts[op.domain.empty() ? op.type : op.domain + "." + op.type];
    }
  return counts;
}

// Numbers that the model holds, by type.
std::map<std::string, int64_t> count_weights(const Module& module) {
  std::map<std::string, int64_t> counts;
  for (const onnx::Constant& constant : module.constants)
    if (constant.problem.empty())
      counts[std::string(name_of(constant.type.dtype))] += num_elements(constant.type.shape);
  return counts;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

ordered_json report(const Module& module) {
  ordered_json root;
  root["producer"] = module.producer;
  root["ir_version"] = module.ir_version;
  root["opsets"] = ordered_json::object();
  for (const auto& [domain, version] : module.opsets) root["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  for (const auto& [key, ports] :
       {std::pair{"inputs", &module.main().inputs}, std::pair{"outputs", &module.main().outputs}}) {
    root[key] = ordered_json::array();
    for (const onnx::Body::Port& port : *ports) root[key].push_back(describe(port));
  }
  size_t num_nodes = 0;
  for (const onnx::Body& body : module.bodies) num_nodes += body.nodes.size();
  root["nodes"] = num_nodes;
  root["dropped_nodes"] = module.num_dropped_nodes;
  root["operators"] = count_operators(module);
  root["weights"] = count_weights(module);
  root["weights_mapped_bytes"] = module.bytes_mapped;
  root["weights_copied_bytes"] = module.bytes_copied;
  root["metadata"] = ordered_json::object();
  for (const auto& [key, value] : module.metadata) root["metadata"][key] = value;
  root["warnings"] = module.warnings;
  const Status status = onnx::check_operators(module);
  root["unsupported"] = status ? std::vector<std::string>() : lines_of(status.error().what());
  return root;
}

Status add_memory(const InfoArguments& arguments, const CommonOptions& common, ordered_json& root) {
  PLICA_TRY(const Model model, Model::load(arguments.model, common.load_options()));
  PLICA_TRY(const std::vector<Shape> shapes, resolve_shapes(model.inputs(), arguments.shapes));
  PLICA_TRY(const size_t bytes, model.forecast(shapes));
  root["arena_bytes"] = bytes;
  return {};
}

void print_list(const char* title, const ordered_json& items) {
  if (items.empty()) return;
  std::printf("%s\n", title);
  for (const auto& [key, value] : items.items())
    std::printf("  %s\n", printable((items.is_array() ? "" : key + " ") +
                                    (value.is_string() ? value.get<std::string>() : value.dump()))
                              .c_str());
}

void print_text(const ordered_json& root) {
  constexpr double kMiB = 1048576;
  std::printf("made by %s, IR version %ld\n", printable(root["producer"].get<std::string>()).c_str(),
              root["ir_version"].get<long>());
  print_list("operator sets", root["opsets"]);
  print_list("inputs", root["inputs"]);
  print_list("outputs", root["outputs"]);
  std::printf("%ld nodes (%ld more that no output needs)\n", root["nodes"].get<long>(),
              root["dropped_nodes"].get<long>());
  print_list("operators", root["operators"]);
  print_list("numbers it holds", root["weights"]);
  std::printf("weights: %.1f MiB stay in the mapped file, %.1f MiB are copied\n",
              root["weights_mapped_bytes"].get<double>() / kMiB, root["weights_copied_bytes"].get<double>() / kMiB);
  print_list("metadata", root["metadata"]);
  print_list("warnings", root["warnings"]);
  if (root.contains("arena_bytes"))
    std::printf("a run needs %.1f MiB beside the weights\n", root["arena_bytes"].get<double>() / kMiB);
  print_list("NOT SUPPORTED by this build", root["unsupported"]);
}

Result<int> info(const InfoArguments& arguments, const CommonOptions& common) {
  PLICA_TRY(const Module module, onnx::read_module(arguments.model, {.map_files = !common.no_mmap}));
  ordered_json root = report(module);
  if (!arguments.shapes.empty()) PLICA_CHECK(add_memory(arguments, common, root));
  if (arguments.json) {
    std::printf("%s\n", root.dump(1, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    print_text(root);
  }
  return kDone;
}

}  // namespace

Command add_info(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* app = add_command(program, "info", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  app->add_option("--shape", arguments->shapes,
                  "Shape of an input, INPUT=2x128, or a free size by its name, SYMBOL=128 (repeatable)");
  app->add_flag("--json", arguments->json, "As JSON");
  return {app, [arguments, &common] { return exit_code_of([&] { return info(*arguments, common); }); }};
}

}  // namespace plica
