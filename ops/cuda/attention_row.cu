#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_shape.cuh"
#include "ops/cuda/row.cuh"

namespace plica::cuda::attention {
namespace {

constexpr int kWarps = kBlock / kWarp;
constexpr int kColumns = 8;               // of y that a lane holds: wider values are taken by several warps
constexpr int64_t kNoColumn = INT64_MIN;  // offsets of columns that run backwards are negative

// One query against its keys, in the arithmetic of W.
template <class T>
struct Scores {
  using W = Wide<T>;
  const Shape& shape;
  const T *q, *k, *bias;  // q: this row; k: this head; bias and mask: this row of scores
  const void* mask;
  W scale, fill;

  __device__ W operator()(int64_t key) const {
    const T* k_row = k + key * shape.row[kK];
    W dot = 0;
    for (int64_t d = 0; d < shape.width; ++d) dot += widen(q[d * shape.step[kQ]]) * widen(k_row[d * shape.step[kK]]);
    W score = scale * dot;
    if (bias != nullptr) score += widen(bias[key * shape.step[kBias]]);
    if (shape.mask == MaskKind::kAdded) score += widen(static_cast<const T*>(mask)[key * shape.step[kMask]]);
    if (shape.mask == MaskKind::kBool && !static_cast<const bool*>(mask)[key * shape.step[kMask]]) score = fill;
    return score;
  }
};

// What a warp keeps of the keys so far: the largest score, the sum of exponentials, this lane's columns of y.
template <class T>
struct State {
  using W = Wide<T>;
  W max = -INFINITY, sum = 0, y[kColumns] = {};

  // A lane brings the score of one key of 32; `num` of them are there.
  __device__ void add(W score, int num, const T* v, int64_t v_row, const int64_t (&column)[kColumns]) {
    const W largest = Largest{}(max, reduce_lanes<kWarp>(score, Largest{}));
    const W origin = largest == -INFINITY ? W{0} : largest;  // while all keys are masked, exp(-inf) is zero
    const W weight = exp(score - origin), factor = exp(max - origin);
    max = largest;
    sum = sum * factor + reduce_lanes<kWarp>(weight, Sum{});
#pragma unroll
    for (W& value : y) value *= factor;
    for (int i = 0; i < num; ++i) {
      const W w = __shfl_sync(0xffffffffu, weight, i);
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        if (column[c] != kNoColumn) y[c] += w * widen(v[i * v_row + column[c]]);
    }
  }
};

// Online softmax (Milakov and Gimelshein 2018). A warp takes one query and up to 256 columns of its result, 32 keys at a time; a lane
// one key, then kColumns columns.
template <class T>
__global__ void __launch_bounds__(kBlock) row(const __grid_constant__ Shape shape, Pointers p, int64_t chunks) {
  using W = Wide<T>;
  check_segments(shape, p);
  const int lane = threadIdx.x % kWarp;
  int64_t item = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (item >= shape.heads.count * shape.rows * chunks) return;
  const int64_t first_column = item % chunks * kWarp * kColumns;
  item /= chunks;
  const int64_t l = item % shape.rows;
  int64_t at[kNumOperands];
  shape.heads.offsets(item / shape.rows, at);
  const auto row_of = [&](const void* data, int operand) {
    return data == nullptr ? nullptr : static_cast<const T*>(data) + at[operand] + l * shape.row[operand];
  };
  const void* mask = shape.mask == MaskKind::kBool
                         ? static_cast<const void*>(static_cast<const bool*>(p.mask) + at[kMask] + l * shape.row[kMask])
                         : row_of(p.mask, kMask);
  const Scores<T> scores{shape,
                         row_of(p.q, kQ),
                         static_cast<const T*>(p.k) + at[kK],
                         row_of(p.bias, kBias),
                         mask,
                         static_cast<W>(sizeof(W) == 8 ? shape.wide_scale : shape.scale),
                         static_cast<W>(sizeof(W) == 8 ? shape.wide_fill : shape.fill)};
  const T* v = static_cast<const T*>(p.v) + at[kV];
  int64_t column[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t e = first_column + c * kWarp + lane;
    column[c] = e < shape.value_width ? e * shape.step[kV] : kNoColumn;
  }
  State<T> state;
  const Range keys = visible(shape, p, l);
  for (int64_t base = keys.begin; base < keys.end; base += kWarp) {
    const int num = static_cast<int>(min(int64_t{kWarp}, keys.end - base));
    const W score = lane < num ? scores(base + lane) : W(-INFINITY);
    state.add(score, num, v + base * shape.row[kV], shape.row[kV], column);
  }
  const bool undefined = isnan(state.sum) && shape.zero_rows == ops::ZeroRows::kUndefined;
  const bool zero = undefined || keys.begin >= keys.end;
  if (state.sum == 0 && shape.zero_rows != ops::ZeroRows::kNone) state.sum = 1;  // y has sums of zeros
  T* y = static_cast<T*>(p.y) + at[kY] + l * shape.row[kY];
  const T* gate = row_of(p.gate, kGate);
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const int64_t e = first_column + c * kWarp + lane;
    if (e >= shape.value_width) continue;
    W value = zero ? W{0} : state.y[c] / state.sum;
    if (gate != nullptr) value /= W{1} + exp(-widen(gate[e * shape.step[kGate]]));
    y[e * shape.step[kY]] = narrow<T>(value);
  }
  if (undefined) spoil_zeros<T>(shape, p, at, l, l + 1, lane, kWarp);
}

}  // namespace

void run_row(const ops::Attention& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  const int64_t chunks = ceil_div(shape.value_width, kWarp * kColumns);
  const int64_t items = shape.heads.count * shape.rows * chunks;
  if (items == 0) return;
  visit_float(args.in[kQ].type.dtype, [&](auto tag) {
    row<typename decltype(tag)::type>
        <<<blocks_for(items, kWarps), kBlock, 0, stream_of(args)>>>(shape, pointers_of(shape, args), chunks);
  });
}

}  // namespace plica::cuda::attention
