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

// Runs the last kernel of `op`, the reference, into `out`.
Status run(const OpDef& op, const void* attrs, std::span<const TensorView> in, std::span<const TensorView> out) {
  const Kernels table = kernels(op, Device::kCpu);
  if (table.empty()) return Error(Code::kUnsupported, std::string(op.name) + " has no kernels");
  const Kernel& kernel = table.back();

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

  alignas(64) std::byte small[4096];
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
Result<std::vector<Tensor>> materialise(const OpDef& op, const Attrs& attrs, const TensorView& x, const TensorType& y) {
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
    PLICA_CHECK(run(copy_op, &copy, {&from, 1}, {&to, 1}));
  }
  return std::vector<Tensor>{std::move(out)};
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in) {
  std::array<const TensorType*, 8> few;
  std::vector<const TensorType*> many;
  const TensorType** types = few.data();
  if (in.size() > few.size()) {
    many.resize(in.size());
    types = many.data();
  }
  for (size_t i = 0; i < in.size(); ++i) types[i] = in[i].data == nullptr ? nullptr : &in[i].type;
  PLICA_TRY(const Types results, infer_types(op, attrs, {types, in.size()}));
  if (op.is_view) return materialise(op, attrs, in[0], results[0]);

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
    PLICA_CHECK(run(map_op, &map, in, views));
  } else {
    PLICA_CHECK(run(op, attrs.get(), in, views));
  }
  return outputs;
}

}  // namespace plica
