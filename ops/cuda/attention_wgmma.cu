#include <algorithm>
#include <memory>
#include <span>

#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_shape.cuh"
#include "ops/cuda/attention_wgmma_maps.cuh"
#include "ops/cuda/element.cuh"
#include "runtime/core/shape.h"
#include "runtime/device/cuda_driver.h"

namespace plica::cuda::attention {
namespace {

constexpr int64_t kEight = 8;  // elements of 16 bytes

// Whether rows of a 16-bit operand can be read 8 elements at once, and are whole eights.
bool has_eights(const Case& c, const plica::Operand& operand) {
  const size_t rank = c.out[0].type->shape.size();
  const AxisStrides strides = strides_in(*operand.type, rank);
  bool fits = operand.type->shape.back() % kEight == 0 && strides[rank - 1] == 1 && operand.alignment_bytes % 16 == 0;
  for (size_t axis = 0; axis + 1 < rank; ++axis) fits &= strides[axis] % kEight == 0;
  return fits;
}

// Where the kernel `mma` ends earlier: a warpgroup takes 64 queries of a head, and there is a device to fill.
const char* has_few_queries(const plica::Shape& y, int64_t width) {
  const int64_t few = width > 32 ? 16 : 64, rows = y.end()[-2], tiles = ceil_div(rows, 64);
  if (rows <= 64) return "a head has no more than 64 queries";
  return num_rows(y) / rows * tiles < few ? "there are few queries" : nullptr;
}

// Whether rows of a mask of bools, where it has rows, can be read 8 bytes at once.
bool has_mask_eights(const Case& c) {
  if (!c.has(kMask) || c.in[kMask].type->dtype != DType::kBool) return true;
  const size_t rank = c.out[0].type->shape.size();
  return strides_in(*c.in[kMask].type, rank)[rank - 2] == 0 || has_eights(c, c.in[kMask]);
}

// What is added to scores by row and key: the bias, or a mask in its place.
const plica::Operand* bias_of(const Case& c) {
  if (c.has(kBias)) return &c.in[kBias];
  if (!c.has(kMask) || c.in[kMask].type->dtype == DType::kBool) return nullptr;
  const size_t rank = c.out[0].type->shape.size();
  return strides_in(*c.in[kMask].type, rank)[rank - 2] == 0 ? nullptr : &c.in[kMask];
}

// Whether an operand is the same for all rows of a head.
bool repeats_rows(const Case& c, const plica::Operand& operand) {
  const plica::Shape& y = c.out[0].type->shape;
  return y.end()[-2] > 1 && strides_in(*operand.type, y.size())[y.size() - 2] == 0;
}

// Elements of the bias as rows of whole eights, one for each of its own.
int64_t padded_elements(const Case& c, const plica::Operand& bias) {
  const plica::Shape& own = bias.type->shape;
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < own.size(); ++axis) rows *= own[axis];
  return rows * ceil_div(c.in[kV].type->shape.end()[-2], kEight) * kEight;
}

// Whether the bias is copied before it is used.
bool pads(const Case& c) {
  const plica::Operand* bias = bias_of(c);
  return bias != nullptr && !has_eights(c, *bias);
}

// What stands for a step from its planning on.
struct State {
  bool pads;
  EncodeMap encode;
};

struct Padding {
  Layout<1> rows;
  int64_t step;
  int keys, units;  // of eight elements
};

// Rows of 16-bit elements, anywhere in memory, to rows of whole eights. A thread takes one eight.
__global__ void __launch_bounds__(kBlock)
    pad(const __grid_constant__ Padding padding, const uint16_t* from, Pack<uint16_t, 8>* to) {
  const int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  const int64_t row = index / padding.units;
  if (row >= padding.rows.count) return;
  int64_t at[1];
  padding.rows.offsets(row, at);
  Pack<uint16_t, 8> eight{};
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int key = static_cast<int>(index % padding.units) * 8 + e;
    if (key < padding.keys) eight.v[e] = from[at[0] + key * padding.step];
  }
  to[index] = eight;
}

// Brings the bias to scratch in rows of whole eights, and makes the shape that of the copy.
void pad_bias(Shape& shape, Pointers& p, void* scratch, cudaStream_t stream) {
  std::array<int64_t, kMaxRank> sizes{};
  std::array<AxisStrides, 1> strides{};
  size_t rank = 0;
  Padding padding{{}, shape.step[kBias], static_cast<int>(shape.keys), static_cast<int>(ceil_div(shape.keys, kEight))};
  const auto add = [&](int64_t size, int64_t stride) {
    if (stride == 0) return;
    sizes[rank] = size;
    strides[0][rank++] = stride;
  };
  for (int axis = 0; axis < shape.heads.rank; ++axis) add(shape.heads.size[axis], shape.heads.stride[kBias][axis]);
  add(shape.rows, shape.row[kBias]);
  padding.rows = make_layout<1>(std::span(sizes).first(rank), strides);
  int64_t dense = padding.units * kEight;
  const auto take = [&](int64_t size, int64_t& stride) {
    if (stride == 0) return;
    stride = dense;
    dense *= size;
  };
  take(shape.rows, shape.row[kBias]);
  for (int axis = shape.heads.rank; axis-- > 0;) take(shape.heads.size[axis], shape.heads.stride[kBias][axis]);
  shape.step[kBias] = 1;
  const int64_t eights = padding.rows.count * padding.units;
  pad<<<blocks_for(eights, kBlock), kBlock, 0, stream>>>(padding, static_cast<const uint16_t*>(p.bias),
                                                         static_cast<Pack<uint16_t, 8>*>(scratch));
  p.bias = scratch;
}

}  // namespace

const char* declines_wgmma(const ops::Attention& op, const Case& c) {
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  const DType dtype = c.in[kQ].type->dtype;
  if (dtype != DType::kBF16 && dtype != DType::kF16) return "operands are not of 16 bits";
  if (const char* why = tiles_decline(op, c)) return why;
  const plica::Shape &q = c.in[kQ].type->shape, &v = c.in[kV].type->shape, &y = c.out[0].type->shape;
  if (std::max(q.back(), v.back()) > 128) return "a head is wider than 128";
  if (num_rows(y) >= int64_t{1} << 30) return "there are too many queries";
  if (const char* why = has_few_queries(y, std::max(q.back(), v.back()))) return why;
  for (const size_t i : {kQ, kK, kV, kGate})
    if (c.has(i) && !has_eights(c, c.in[i])) return "rows of q, k, v or the gate are no whole 16 bytes";
  if (!has_eights(c, c.out[0])) return "rows of y are no whole 16 bytes";
  if (shape_of(c).heads.rank > kMapAxes) return "over three leading axes cannot be merged";
  if (const plica::Operand* bias = bias_of(c); bias != nullptr && repeats_rows(c, *bias))
    return "the bias is the same for all queries";
  if (c.has(kGate) && repeats_rows(c, c.in[kGate])) return "the gate is the same for all queries";
  if (!has_mask_eights(c)) return "rows of the mask are no whole 8 bytes";
  if (pads(c) && padded_elements(c, *bias_of(c)) > num_rows(y) * y.back())
    return "rows of the bias are no whole 16 bytes, and few heads share it";
  return nullptr;
}

size_t scratch_wgmma(const ops::Attention&, const Case& c) {
  return pads(c) ? static_cast<size_t>(padded_elements(c, *bias_of(c))) * 2 : 0;
}

Result<KernelState> prepare_wgmma(const ops::Attention&, const Case& c, ConstantStore&) {
  PLICA_TRY(const CudaDriver* driver, cuda_driver());
  return KernelState(std::make_shared<const State>(State{pads(c), driver->encode_tiled}));
}

void run_wgmma(const ops::Attention& op, const KernelArgs& args) {
  Shape shape = shape_of(op, args);
  if (shape.heads.count == 0 || shape.rows == 0 || shape.value_width == 0) return;
  Pointers p = pointers_of(shape, args);
  const auto& state = *static_cast<const State*>(args.state);
  const WgmmaRun run{stream_of(args), state.encode};
  if (state.pads && shape.keys > 0) pad_bias(shape, p, args.scratch, run.stream);
  if (args.in[kQ].type.dtype == DType::kBF16) return run_wgmma_bf16(shape, p, run);
  run_wgmma_f16(shape, p, run);
}

}  // namespace plica::cuda::attention
