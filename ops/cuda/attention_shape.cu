#include <algorithm>

#include "ops/cuda/attention_shape.cuh"

namespace plica::cuda::attention {
namespace {

// Leading axes in an order in which those along which terms stay the same come last.
struct Order {
  std::array<int64_t, kMaxRank> sizes{};
  std::array<AxisStrides, kNumOperands> strides{};
  size_t rank = 0;
  int64_t sharing = 1;

  Order(const plica::Shape& shape, const std::array<AxisStrides, kNumOperands>& all) {
    const size_t row = shape.size() - 2;
    const bool mask_has_rows = all[kMask][row] != 0;
    for (const bool shares : {false, true})
      for (size_t axis = 0; axis < row; ++axis) {
        const bool same = all[kBias][axis] == 0 && (!mask_has_rows || all[kMask][axis] == 0);
        if (same != shares) continue;
        sizes[rank] = shape[axis];
        for (size_t i = 0; i < kNumOperands; ++i) strides[i][rank] = all[i][axis];
        if (same) sharing *= shape[axis];
        ++rank;
      }
  }
};

// As a float that is finite where x is.
float nearest_float(double x) {
  return std::isfinite(x) ? static_cast<float>(std::clamp<double>(x, -FLT_MAX, FLT_MAX)) : static_cast<float>(x);
}

MaskKind mask_kind(const TensorType* mask) {
  if (mask == nullptr) return MaskKind::kNone;
  return mask->dtype == DType::kBool ? MaskKind::kBool : MaskKind::kAdded;
}

using Types = std::array<const TensorType*, kNumOperands>;  // null where absent

// What the types of a step say of its shape.
Shape shape_of(const Types& types) {
  const plica::Shape& y = types[kY]->shape;
  const size_t rank = y.size();
  std::array<AxisStrides, kNumOperands> strides{};
  for (size_t i = 0; i < kNumOperands; ++i)
    if (types[i] != nullptr) strides[i] = strides_in(*types[i], rank);
  Shape shape;
  shape.mask = mask_kind(types[kMask]);
  shape.mask_is_bias = shape.mask == MaskKind::kAdded && types[kBias] == nullptr && strides[kMask][rank - 2] != 0;
  if (shape.mask_is_bias) {
    shape.mask = MaskKind::kNone;
    std::swap(strides[kBias], strides[kMask]);
  }
  const Order order(y, strides);
  shape.heads = make_layout<kNumOperands>(std::span(order.sizes).first(order.rank), order.strides);
  shape.sharing = order.sharing;
  shape.rows = y[rank - 2];
  shape.keys = types[kV]->shape.end()[-2];
  shape.width = types[kQ]->shape.back();
  shape.value_width = y[rank - 1];
  for (size_t i = 0; i < kNumOperands; ++i) {
    shape.row[i] = strides[i][rank - 2];
    shape.step[i] = strides[i][rank - 1];
  }
  return shape;
}

}  // namespace

Shape shape_of(const Case& c) {
  Types types{};
  for (size_t i = 0; i < kY; ++i) types[i] = c.has(i) ? c.in[i].type : nullptr;
  types[kY] = c.out[0].type;
  return shape_of(types);
}

Shape shape_of(const ops::Attention& op, const KernelArgs& args) {
  Types types{};
  for (size_t i = 0; i < kY; ++i) types[i] = args.has(i) ? &args.in[i].type : nullptr;
  types[kY] = &args.out[0].type;
  Shape shape = shape_of(types);
  shape.scale = static_cast<float>(op.scale);
  shape.fill = nearest_float(op.fill);
  shape.wide_scale = op.scale;
  shape.wide_fill = op.fill;
  shape.zero_rows = op.zero_rows;
  shape.causal = op.causal;
  if (args.has(kSegments)) {
    shape.num_segments = args.in[kSegments].type.shape[0] - 1;
    shape.segment_step = strides_in(args.in[kSegments].type, 1)[0];
  }
  return shape;
}

Pointers pointers_of(const Shape& shape, const KernelArgs& args) {
  const auto operand = [&](size_t i) -> const void* { return args.has(i) ? args.in[i].data : nullptr; };
  return {operand(kQ),
          operand(kK),
          operand(kV),
          operand(shape.mask_is_bias ? kMask : kBias),
          shape.mask_is_bias ? nullptr : operand(kMask),
          operand(kGate),
          args.out[0].data,
          static_cast<const int64_t*>(operand(kSegments)),
          args.fault,
          "segment offset"};
}

bool reads_vectors(const Shape& shape, Operand operand, const void* data, int64_t length, size_t size) {
  const auto whole = [&](int64_t elements) { return elements * static_cast<int64_t>(size) % 16 == 0; };
  bool fits = (shape.step[operand] == 1 || length == 1) && is_aligned(data, 16) && whole(shape.row[operand]);
  for (int axis = 0; axis < shape.heads.rank; ++axis) fits &= whole(shape.heads.stride[operand][axis]);
  return fits;
}

int num_multiprocessors() {
  int ordinal = 0, count = 0;
  cudaGetDevice(&ordinal);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, ordinal);
  return count;
}

bool fills_device(const Shape& shape, int queries, int heads) {
  const int64_t groups = shape.heads.count / shape.sharing * ceil_div(shape.sharing, heads);
  return shape.sharing >= heads && groups * ceil_div(shape.rows, queries) >= 2 * num_multiprocessors();
}

}  // namespace plica::cuda::attention
