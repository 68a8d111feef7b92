#include <google/protobuf/arena.h>

#include <span>
#include <string_view>

#include "loaders/onnx/constant_reader.h"
#include "loaders/onnx/graph_reader.h"
#include "loaders/onnx/module_bytes.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "loaders/onnx/prune.h"
#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

constexpr int64_t kOldestIrVersion = 3;
constexpr int64_t kNewestIrVersion = 13;
constexpr int64_t kNewestOpset = 24;  // of the standard's own operators

Status read_header(const proto::ModelProto& model, Module& module) {
  module.ir_version = model.ir_version();
  if (!model.has_ir_version()) return Error(Code::kInvalidModel, "the file has no IR version: it is no ONNX model");
  if (module.ir_version < kOldestIrVersion)
    return Error(Code::kUnsupported, "IR version " + std::to_string(module.ir_version) + ", wanted " +
                                         std::to_string(kOldestIrVersion) + " or later");
  if (module.ir_version > kNewestIrVersion)
    module.warnings.push_back("IR version " + std::to_string(module.ir_version) + " is newer than " +
                              std::to_string(kNewestIrVersion) + ", the newest that is known");
  module.producer = model.producer_name();
  if (!model.producer_version().empty()) module.producer += " " + model.producer_version();
  module.domain = model.domain();
  module.model_version = model.model_version();
  for (const auto& opset : model.opset_import()) {
    module.opsets.emplace_back(opset.domain(), opset.version());
    const bool is_standard = opset.domain().empty() || opset.domain() == "ai.onnx";
    if (is_standard && opset.version() > kNewestOpset)
      module.warnings.push_back("opset " + std::to_string(opset.version()) + " is newer than " +
                                std::to_string(kNewestOpset) +
                                ", the newest that is known: its operators are taken as they are there");
  }
  for (const auto& entry : model.metadata_props()) module.metadata.emplace_back(entry.key(), entry.value());
  return {};
}

// What a file is that begins as no model does.
Status refuse_other_files(std::span<const std::byte> bytes) {
  struct Kind {
    std::string_view start, what;
  };
  constexpr Kind kKinds[] = {
      {"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` brings the model itself"},
      {"\x1f\x8b", "compressed by gzip; gunzip it first"},
      {"PK\x03\x04", "a zip archive, such as PyTorch saves; wanted a model exported to ONNX"},
      {"\x89HDF", "an HDF5 file; wanted a model exported to ONNX"},
      {"<", "a page of HTML or XML: a download that failed?"}};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Kind& kind : kKinds)
    if (text.starts_with(kind.start))
      return Error(Code::kInvalidModel, "the file is no ONNX model: it is " + std::string(kind.what));
  return {};
}

// Reads the constants that are used and gives them their place in module.constants.
Status read_constants(const std::vector<ConstantSource>& sources, const std::vector<bool>& used, ConstantReader& reader,
                      Module& module) {
  std::vector<int32_t> new_ids(sources.size(), -1);
  std::vector<Constant> constants;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!used[i]) continue;
    new_ids[i] = static_cast<int32_t>(constants.size());
    Constant constant;
    if (sources[i].tensor != nullptr) {
      auto read = reader.read(*sources[i].tensor);
      if (!read && sources[i].tensor->name() != module.constants[i].name)
        return read.take_error().context("reading the value of '" + module.constants[i].name + "'");
      if (!read) return read.take_error();
      constant = *std::move(read);
    } else {
      constant.problem = "the tensor is sparse";
    }
    constant.name = std::move(module.constants[i].name);
    constants.push_back(std::move(constant));
  }
  const auto renumber = [&](int32_t& id) { id = id < 0 ? id : new_ids[static_cast<size_t>(id)]; };
  for (Value& value : module.values) renumber(value.constant);
  for (Body& body : module.bodies)
    for (Node& node : body.nodes)
      for (Attribute& attribute : node.attributes)
        if (auto* tensor = std::get_if<TensorAttribute>(&attribute.value)) renumber(tensor->constant);
  module.constants = std::move(constants);
  module.bytes_mapped = reader.bytes_mapped();
  module.bytes_copied = reader.bytes_copied();
  return {};
}

}  // namespace

Result<Module> read_module(const FileBytes& file, const std::string& path, const ReadOptions& options) {
  PLICA_TRY(const Skeleton skeleton, read_skeleton(file.bytes(), Message::kModel));
  google::protobuf::Arena arena;
  auto* model = google::protobuf::Arena::CreateMessage<proto::ModelProto>(&arena);
  if (!model->ParseFromString(skeleton.message))
    return Error(Code::kInvalidModel, "the file is no serialised ModelProto");
  Module module;
  PLICA_CHECK(read_header(*model, module));
  GraphReader graphs(*model, module);
  PLICA_CHECK(graphs.read());
  const std::vector<bool> used = prune(module);
  ConstantReader constants(file, skeleton, ExternalFiles(path, options.map_files));
  PLICA_CHECK(read_constants(graphs.sources(), used, constants, module));
  return module;
}

Result<Module> read_module(const std::string& path, const ReadOptions& options) {
  auto module = [&]() -> Result<Module> {
    PLICA_TRY(const FileBytes file, FileBytes::open(path, options.map_files));
    PLICA_CHECK(refuse_other_files(file.bytes()));
    return read_module(file, path, options);
  }();
  return std::move(module).context("reading model '" + path + "'");
}

}  // namespace plica::onnx
