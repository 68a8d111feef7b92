#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/constant.h"
#include "plica/model.h"
#include "runtime/device/device_context.h"
#include "runtime/exec/plan_cache.h"
#include "runtime/exec/signature.h"

namespace plica {

// What loading took.
struct LoadStats {
  double load_ms = 0;
  int64_t bytes_mapped = 0;  // of weights that stay in the mapped file
  int64_t bytes_copied = 0;  // of weights in memory of their own
};

// The inside of a Model, for sessions and tools. Thread-safe where its members are.
struct Model::State {
  State(Source model_source, LoadOptions load_options, PlanOptions options, LoadStats load_stats,
        std::shared_ptr<ConstantStore> store = std::make_shared<ConstantStore>());

  // kUnsupported where this build lacks the device or the precision.
  static Result<Model> make(Source source, LoadOptions options, LoadStats stats = {});

  // The plan for these inputs (in the order of the source's); data may be null where no shape depends on it.
  Result<std::shared_ptr<const Planned>> plan(std::span<const TensorView> inputs);

  // Whether the device reads that memory in place and the host does not.
  bool is_on_device(const void* memory) const {
    return context->traits().device != Device::kCpu && memory != nullptr &&
           context->kind_of(memory) != MemoryKind::kHost;
  }

  // kInvalidInput with what was found and wanted where dtype, rank or a fixed size is not that of the port.
  Status check_input(size_t index, const TensorType& type) const;

  const Source source;
  const LoadOptions options;
  const LoadStats stats;
  const std::shared_ptr<DeviceContext> context;
  std::vector<TensorInfo> inputs, outputs;
  const std::shared_ptr<ConstantStore> store;  // shared by models of one file that differ in their outputs
  ConstantStore& constants;
  PlanCache plans;
};

// "i64 batch x sequence": the type as the model declares it.
std::string to_string(const Port& port);

std::string names_of(const std::vector<Port>& ports);  // "'ids', 'mask'"

}  // namespace plica
