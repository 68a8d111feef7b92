#include <array>
#include <unordered_map>

#include "ops/op.h"
#include "ops/pointwise.h"
#include "ops/step_run.h"
#include "ops/strided.h"

namespace plica {
namespace {

struct Row {
  const OpDef* op;
  Device device;
  const Kernels* kernels;
};

#define PLICA_OP(x)
#define PLICA_CPU(x) Row{&x##_op, Device::kCpu, &x##_cpu_kernels},
#if PLICA_WITH_CUDA
#define PLICA_CUDA(x) Row{&x##_op, Device::kCuda, &x##_cuda_kernels},
#else
#define PLICA_CUDA(x)
#endif
constexpr std::array kRows = {
#include "ops/op_list.inc"
};
#undef PLICA_OP
#undef PLICA_CPU
#undef PLICA_CUDA

#define PLICA_OP(x) &x##_op,
#define PLICA_CPU(x)
#define PLICA_CUDA(x)
constexpr std::array kListed = {
#include "ops/op_list.inc"
};
#undef PLICA_OP
#undef PLICA_CPU
#undef PLICA_CUDA

std::vector<const OpDef*> listed_and_primitives() {
  std::vector<const OpDef*> ops(kListed.begin(), kListed.end());
  for (const OpDef& op : pointwise_ops()) ops.push_back(&op);
  return ops;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const std::vector<const OpDef*> ops = listed_and_primitives();
  return ops;
}

const OpDef* find_op(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpDef*> by_name = [] {
    std::unordered_map<std::string_view, const OpDef*> map;
    for (const OpDef* op : all_ops()) map.emplace(op->name, op);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

Kernels kernels(const OpDef& op, Device device) {
  for (const Row& row : kRows)
    if (row.op == &op && row.device == device) return *row.kernels;
  return {};
}

std::span<const RunKernel> run_kernels([[maybe_unused]] Device device) {
#if PLICA_WITH_CUDA
  if (device == Device::kCuda) return run_cuda_kernels;
#endif
  return {};
}

Result<Types> infer_types(const OpDef& op, const Attrs& attrs, InTypes in) {
  const std::string name(op.name);
  const bool counted = op.variadic() ? in.size() + 1 >= op.inputs.size() : in.size() == op.inputs.size();
  if (!counted)
    return Error(Code::kInvalidModel,
                 name + ": " + std::to_string(in.size()) + " inputs, wanted " + std::to_string(op.inputs.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string_view input = op.inputs[std::min(i, op.inputs.size() - 1)];
    if (in[i] == nullptr && !input.ends_with('?'))
      return Error(Code::kInvalidModel,
                   name + ": input '" + std::string(input) + "' is absent, but it is not optional");
    if (in[i] != nullptr && in[i]->shape.size() > kMaxRank)
      return Error(Code::kUnsupported, name + ": input '" + std::string(input) + "' is of rank " +
                                           std::to_string(in[i]->shape.size()) + ", wanted at most " +
                                           std::to_string(kMaxRank));
  }
  PLICA_TRY(Types types, op.infer(attrs.get(), in));
  for (const TensorType& type : types)
    if (type.shape.size() > kMaxRank)
      return Error(Code::kUnsupported, name + ": a result of rank " + std::to_string(type.shape.size()) +
                                           ", wanted at most " + std::to_string(kMaxRank));
  return types;
}

}  // namespace plica
