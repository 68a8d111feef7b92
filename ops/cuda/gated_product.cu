#include "ops/cuda/gated_product.h"
#include "ops/cuda/gated_product_form.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

using Op = ops::GatedMatMul;
using gated::Form;
using gated::GatedProduct;

// Types of the operands, null where absent, and of y.
struct Operands {
  std::array<const TensorType*, Op::kNumOperands> in{};
  const TensorType* y = nullptr;
  size_t rank() const { return y->shape.size(); }
};

Operands operands_of(const Case& c) {
  Operands all;
  for (size_t i = 0; i < all.in.size(); ++i) all.in[i] = c.has(i) ? c.in[i].type : nullptr;
  all.y = c.out[0].type;
  return all;
}

Operands operands_of(const KernelArgs& args) {
  Operands all;
  for (size_t i = 0; i < all.in.size(); ++i) all.in[i] = args.has(i) ? &args.in[i].type : nullptr;
  all.y = &args.out[0].type;
  return all;
}

// The geometry of rows, or why the kernel has none. Leading axes are one axis of rows to all operands but a transposed y.
const char* find_rows(const Operands& all, GatedProduct& p, Form& form) {
  const size_t rank = all.rank(), last = rank - 1;
  const AxisStrides of_a = strides_in(*all.in[Op::kA], rank), of_y = strides_in(*all.y, rank);
  const auto strides_of = [&](size_t i) { return all.in[i] != nullptr ? strides_in(*all.in[i], rank) : AxisStrides{}; };
  const AxisStrides of_b = strides_of(Op::kB), of_residual = strides_of(Op::kResidual);
  const auto leading = std::span<const int64_t>(all.y->shape).first(last);
  form.two_sources = all.in[Op::kB] != nullptr;
  form.channels_first = of_a[last] != 1 && p.depth > 1;
  form.transposed = of_y[last] != 1 && p.columns > 1;
  const auto rows =
      make_layout<5>(leading, {of_a, of_b, strides_of(Op::kMask), of_residual, form.transposed ? AxisStrides{} : of_y});
  if (rows.rank > 1) return "rows of its operands do not lie one step apart";
  if (rows.count >= (int64_t{1} << 31) - gated::kUnitRows) return "2^31 rows";
  p.rows = rows.count;
  p.a_step = form.channels_first ? of_a[last] : rows.stride[0][0];
  p.b_step = rows.stride[1][0];
  p.mask_step = rows.stride[2][0];
  p.residual_step = rows.stride[3][0];
  p.y_step = rows.stride[4][0];
  if (form.channels_first && (rows.stride[0][0] != 1 || !form.two_sources)) return "rows of a are not adjacent values";
  if (form.two_sources && of_b[last] != 1) return "rows of b are not adjacent values";
  if (all.in[Op::kResidual] != nullptr && (form.transposed || of_residual[last] != 1))
    return "rows of the residual are not adjacent values, or those of y";
  if (!form.transposed) return nullptr;
  const auto own = make_layout<1>(leading, {of_y});
  if (form.two_sources || own.rank > 2 || (own.rank > 0 && own.stride[0][own.rank - 1] != 1))
    return "y has neither rows nor columns of adjacent values";
  p.y_channel = of_y[last];
  p.y_batch = own.rank == 2 ? own.stride[0][0] : 0;
  p.batch_rows = static_cast<int>(own.rank > 0 ? own.size[own.rank - 1] : 1);
  p.by_batch_rows = Divider(static_cast<uint32_t>(p.batch_rows));
  return nullptr;
}

const char* find_geometry(const Operands& all, GatedProduct& p, Form& form) {
  const int unit = static_cast<int>(16 / size_of(all.y->dtype));
  const Shape &value = all.in[Op::kValue]->shape, &gate = all.in[Op::kGate]->shape;
  if (value[1] != gate[1]) return "a and b have different depths";
  if (value[1] > 128 || value[1] == 0) return "the depth is not 1 to 128";
  if (value[0] >= 1 << 20) return "2^20 columns";
  p.depth = static_cast<int>(value[1]);
  p.columns = static_cast<int>(value[0]);
  if (p.depth % unit != 0 || p.columns % unit != 0) return "rows are no whole vectors of 16 bytes";
  form.depth = p.depth <= 64 ? 64 : 128;
  if ((all.in[Op::kGamma] != nullptr || all.in[Op::kGateGamma] != nullptr) && p.depth != form.depth)
    return "a norm of neither 64 nor 128 values";
  if (const char* why = find_rows(all, p, form)) return why;
  for (const size_t i : {Op::kValue, Op::kGate})
    if (strides_in(*all.in[i], 2)[1] != 1 && p.depth > 1) return "rows of weights are not adjacent values";
  p.value_step = strides_in(*all.in[Op::kValue], 2)[0];
  p.gate_step = strides_in(*all.in[Op::kGate], 2)[0];
  for (const int64_t step : {p.a_step, p.b_step, p.value_step, p.gate_step, p.y_step, p.residual_step})
    if (step % unit != 0) return "rows are no whole vectors of 16 bytes";
  if (form.channels_first && p.rows % unit != 0) return "rows are no whole vectors of 16 bytes";
  if (p.value_step < p.depth || p.gate_step < p.depth) return "rows of weights overlap";
  if (p.rows > 1 && (p.a_step < (form.channels_first ? p.rows : p.depth) || (form.two_sources && p.b_step < p.depth)))
    return "rows of a or b overlap";
  p.vectors = p.batch_rows % unit == 0 && p.y_batch % unit == 0 && p.y_channel % unit == 0;
  return nullptr;
}

// Weights, biases and norms are read before what comes earlier is done.
const char* constants_decline(const Case& c) {
  for (const size_t i :
       {Op::kValue, Op::kGate, Op::kValueBias, Op::kGateBias, Op::kGamma, Op::kBeta, Op::kGateGamma, Op::kGateBeta}) {
    if (!c.has(i)) continue;
    if (c.in[i].constant == nullptr) return "a weight is not known";
    if (c.in[i].type->shape.size() == 1 && c.in[i].type->shape[0] > 1 && strides_in(*c.in[i].type, 1)[0] != 1)
      return "a bias or a norm's factor is not adjacent values";
  }
  return nullptr;
}

}  // namespace

const char* gated_product_wgmma_declines(const Op&, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  if (dtype == DType::kF64) return "f64";
  if (dtype == DType::kF32 && c.precision != Precision::kTf32 && c.precision != Precision::kTf32x3)
    return "fp32 is strict";
  if (const char* why = over_rank(c)) return why;
  if (const char* why = constants_decline(c)) return why;
  for (const size_t i : {Op::kA, Op::kValue, Op::kGate, Op::kB, Op::kResidual})
    if (c.has(i) && c.in[i].alignment_bytes % 16 != 0) return "an operand is not aligned to 16 bytes";
  if (c.out[0].alignment_bytes % 16 != 0) return "an operand is not aligned to 16 bytes";
  GatedProduct p;
  Form form;
  return find_geometry(operands_of(c), p, form);
}

Result<KernelState> gated_product_wgmma_prepare(const Op&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const bool>(c.precision == Precision::kTf32x3));
}

void run_gated_product_wgmma(const Op& op, const KernelArgs& args) {
  GatedProduct p;
  Form form;
  find_geometry(operands_of(args), p, form);
  if (p.rows == 0 || p.columns == 0) return;
  const auto data = [&](size_t i) { return args.has(i) ? args.in[i].data : nullptr; };
  p.a = data(Op::kA), p.b = data(Op::kB);
  p.value = data(Op::kValue), p.gate = data(Op::kGate);
  p.value_bias = data(Op::kValueBias), p.gate_bias = data(Op::kGateBias);
  p.mask = data(Op::kMask), p.residual = data(Op::kResidual);
  p.norm = {data(Op::kGamma), data(Op::kBeta), static_cast<float>(op.eps)};
  p.gate_norm = {data(Op::kGateGamma), data(Op::kGateBeta), static_cast<float>(op.gate_eps)};
  p.activation = op.activation;
  p.y = args.out[0].data;
  switch (args.out[0].type.dtype) {
    case DType::kBF16: return gated::launch_bf16(p, form, args.stream);
    case DType::kF16: return gated::launch_f16(p, form, args.stream);
    default: break;
  }
  const bool pairs = *static_cast<const bool*>(args.state);
  pairs ? gated::launch_tf32x3(p, form, args.stream) : gated::launch_tf32(p, form, args.stream);
}

}  // namespace plica::cuda
