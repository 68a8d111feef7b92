#include "ops/evaluate.h"

#include <cstring>

#include "ops/copy.h"
#include "ops/map.h"
#include "ops/view.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Error faulty(const OpDef& op, const Fault& fault) {
  const std::string limit = std::to_string(fault.limit);
  return Error(Code::kInvalidInput, std::string(op.name) + ": " + fault.what + " " + std::to_string(fault.found) +
                                        ", wanted one in [-" + limit + ", " + limit + ")");
}

enum class Choice { kReference, kFirst };
constexpr int64_t kMany = 4096;  // elements from which on another kernel than the reference is worth its choice

// The reference, or the first kernel that takes the case and keeps no state.
const Kernel& chosen(const Kernels table, Choice choice, const void* attrs, const Case& c) {
  if (choice == Choice::kFirst && num_elements(c.out[0].type->shape) >= kMany)
    for (const Kernel& kernel : table)
      if (kernel.prepare == nullptr && (kernel.declines == nullptr || kernel.declines(attrs, c) == nullptr))
        return kernel;
  return table.back();
}

// Runs a kernel of `op` into `out`.
Status run(const OpDef& op, const void* attrs, std::span<const TensorView> in, std::span<const TensorView> out,
           Choice choice) {
  const Kernels table = kernels(op, Device::kCpu);
  if (table.empty()) return Error(Code::kUnsupported, std::string(op.name) + " has no kernels");

  constexpr size_t kInPlace = 8;
  std::array<Operand, 2 * kInPlace> few;
  std::vector<Operand> many;
  Operand* operands = few.data();
  if (in.size() + out.size() > few.size()) {
    many.resize(in.size() + out.size());
    operands = many.data();
  }
  Case c;
  c.in = {operands, in.size()};
  c.out = {operands + in.size(), out.size()};
  for (const TensorView& x : in) (operands++)->type = x.data == nullptr ? nullptr : &x.type;
  for (const TensorView& y : out) (operands++)->type = &y.type;

  const Kernel& kernel = chosen(table, choice, attrs, c);
  alignas(64) std::byte small[8192];
  Tensor large;
  KernelArgs args{.in = in, .out = out};
  args.scratch = small;
  const size_t bytes = kernel.scratch_bytes ? kernel.scratch_bytes(attrs, c) : 0;
  if (bytes > sizeof small) {
    PLICA_TRY(large, Tensor::zeros(DType::kU8, {static_cast<int64_t>(bytes)}));
    args.scratch = large.data();
  }
  Fault fault;
  args.fault = &fault;
  kernel.run(attrs, args);
  if (fault.what != nullptr) return faulty(op, fault);
  return {};
}

// Dense memory of what a view shows of x. A Reshape of x that is no view takes x's elements in order.
Result<std::vector<Tensor>> materialise(const OpDef& op, const Attrs& attrs, const TensorView& x, const TensorType& y,
                                        Choice choice) {
  PLICA_TRY(Tensor out, Tensor::zeros(y.dtype, y.shape));
  const std::optional<View> view = view_through(op, attrs, x.type);
  if (view && view->type.strides.empty() && view->offset == 0) {
    std::memcpy(out.data(), x.data, num_bytes(y));
  } else {
    const ops::Copy copy;
    const TensorType& shown = view ? view->type : x.type;
    const int64_t offset = view ? view->offset * static_cast<int64_t>(size_of(y.dtype)) : 0;
    const TensorView from{shown, static_cast<std::byte*>(x.data) + offset};
    const TensorView to{{y.dtype, shown.shape, {}}, out.data()};
    PLICA_CHECK(run(copy_op, &copy, {&from, 1}, {&to, 1}, choice));
  }
  return std::vector<Tensor>{std::move(out)};
}

Result<std::vector<Tensor>> results_of(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in,
                                       Choice choice) {
  std::array<const TensorType*, 8> few;
  std::vector<const TensorType*> many;
  const TensorType** types = few.data();
  if (in.size() > few.size()) {
    many.resize(in.size());
    types = many.data();
  }
  for (size_t i = 0; i < in.size(); ++i) types[i] = in[i].data == nullptr ? nullptr : &in[i].type;
  PLICA_TRY(const Types results, infer_types(op, attrs, {types, in.size()}));
  if (op.is_view) return materialise(op, attrs, in[0], results[0], choice);

  std::vector<Tensor> outputs;
  std::vector<TensorView> views;
  outputs.reserve(results.size());
  views.reserve(results.size());
  for (const TensorType& type : results) {
    PLICA_TRY(Tensor output, Tensor::zeros(type.dtype, type.shape));
    views.push_back(output.view());
    outputs.push_back(std::move(output));
  }
  if (is_pointwise(op)) {
    const ops::Map map{ops::program_of(fn_of(op), results[0].dtype)};
    PLICA_CHECK(run(map_op, &map, in, views, choice));
  } else {
    PLICA_CHECK(run(op, attrs.get(), in, views, choice));
  }
  return outputs;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in) {
  return results_of(op, attrs, in, Choice::kReference);
}

Result<std::vector<Tensor>> compute(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in) {
  return results_of(op, attrs, in, Choice::kFirst);
}

}  // namespace plica
