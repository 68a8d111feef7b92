#include "ops/cuda/outer_product.h"

#include "ops/strided.h"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

// Whether the last axis is whole vectors of 16 bytes, wherever the others point.
bool is_vectors(const Operand& operand) {
  const TensorType& type = *operand.type;
  const auto width = static_cast<int64_t>(16 / size_of(type.dtype));
  const size_t rank = type.shape.size();
  const AxisStrides strides = strides_in(type, rank);
  if (type.shape[rank - 1] % width != 0 || strides[rank - 1] != 1 || operand.alignment_bytes % 16 != 0) return false;
  for (size_t i = 0; i + 1 < rank; ++i)
    if (strides[i] % width != 0) return false;
  return true;
}

}  // namespace

OuterProduct outer_product_of(const ops::OuterProductMean& op, const KernelArgs& args) {
  const Shape &a = args.in[0].type.shape, &b = args.in[1].type.shape, &y = args.out[0].type.shape;
  OuterProduct p{a[0], a[1], a[2], b[2], a[3], b[3], y[3]};
  p.scale = op.scale;
  const AxisStrides of_a = strides_in(args.in[0].type, 4), of_b = strides_in(args.in[1].type, 4);
  const AxisStrides of_weight = strides_in(args.in[2].type, 2), of_y = strides_in(args.out[0].type, 4);
  const AxisStrides of_norm = args.has(4) ? strides_in(args.in[4].type, 4) : AxisStrides{};
  const AxisStrides of_residual = args.has(5) ? strides_in(args.in[5].type, 4) : AxisStrides{};
  if (args.has(3)) p.bias = strides_in(args.in[3].type, 1)[0];
  for (size_t i = 0; i < 4; ++i) {
    p.a[i] = of_a[i];
    p.b[i] = of_b[i];
    p.y[i] = of_y[i];
    p.residual[i] = of_residual[i];
    if (i < 3) p.norm[i] = of_norm[i];
    if (i < 2) p.weight[i] = of_weight[i];
  }
  return p;
}

bool is_small_outer_product(const Case& c) {
  constexpr double kSmall = 5e8;  // operations
  const Shape &a = c.in[0].type->shape, &b = c.in[1].type->shape, &y = c.out[0].type->shape;
  double count = 2;
  for (const int64_t size : {y[0], y[1], y[2], a[3] * b[3], a[1] + y[3]}) count *= static_cast<double>(size);
  return count < kSmall;
}

const char* outer_product_vectors_decline(const Case& c) {
  if (!is_vectors(c.in[0]) || !is_vectors(c.in[1])) return "channels of a or b are no whole vectors of 16 bytes";
  if (!is_vectors(c.in[2])) return "rows of weight are no whole vectors of 16 bytes";
  if (!is_vectors(c.out[0])) return "channels of y are no whole vectors of 16 bytes";
  return nullptr;
}

}  // namespace plica::cuda
