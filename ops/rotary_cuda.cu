#include <algorithm>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/op.h"
#include "ops/rotary.h"

namespace plica {
namespace {

using namespace plica::cuda;

// Axes: the leading ones of x, then pairs of elements (d, d + distance), kWidth at a time.
struct Shape {
  Layout<4> pairs;      // x, cos, sin, y
  int64_t distance[4];  // between the two of a pair, in each operand
  bool few;             // all blocks run at once, with room for more
};

// A thread turns kWidth neighbouring pairs.
template <class T, int kWidth>
__global__ void __launch_bounds__(kBlock)
    pairs(const __grid_constant__ Shape shape, const T* __restrict__ x, const T* __restrict__ cosine,
          const T* __restrict__ sine, T* __restrict__ y) {
  using P = Pack<T, kWidth>;
  if (shape.few) let_next_begin();
  wait_for_earlier();
  const int64_t linear = (int64_t{blockIdx.x} * kBlock + threadIdx.x) * kWidth;
  if (linear >= shape.pairs.count) return;
  int64_t at[4];
  shape.pairs.offsets(linear, at);
  const auto load = [&](const T* from, int n, bool second) {
    return *reinterpret_cast<const P*>(from + at[n] + (second ? shape.distance[n] : 0));
  };
  const P x0 = load(x, 0, false), x1 = load(x, 0, true), c0 = load(cosine, 1, false), c1 = load(cosine, 1, true),
          s0 = load(sine, 2, false), s1 = load(sine, 2, true);
  P y0, y1;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const auto a = widen(x0.v[i]), b = widen(x1.v[i]);
    y0.v[i] = narrow<T>(a * widen(c0.v[i]) - b * widen(s0.v[i]));
    y1.v[i] = narrow<T>(b * widen(c1.v[i]) + a * widen(s1.v[i]));
  }
  *reinterpret_cast<P*>(y + at[3]) = y0;
  *reinterpret_cast<P*>(y + at[3] + shape.distance[3]) = y1;
}

// The strides of operand n seen as (leading axes, pairs).
std::array<AxisStrides, 4> strides_of_pairs(const ops::Rotary& op, const std::array<const TensorType*, 4>& types,
                                            size_t rank, int64_t (&distance)[4]) {
  const int64_t half = types[0]->shape[rank - 1] / 2;
  std::array<AxisStrides, 4> strides{};
  for (size_t n = 0; n < 4; ++n) {
    strides[n] = strides_in(*types[n], rank);
    int64_t& step = strides[n][rank - 1];
    distance[n] = op.interleaved ? step : half * step;
    if (op.interleaved) step *= 2;
  }
  return strides;
}

template <bool kVectors>
void run(const ops::Rotary& op, const KernelArgs& args) {
  const TensorView& x = args.in[0];
  const size_t rank = x.type.shape.size();
  Shape shape;
  const auto strides =
      strides_of_pairs(op, {&x.type, &args.in[1].type, &args.in[2].type, &args.out[0].type}, rank, shape.distance);
  AxisSizes sizes{};
  std::ranges::copy(x.type.shape, sizes.begin());
  sizes[rank - 1] /= 2;
  shape.pairs = make_layout<4>(std::span(sizes).first(rank), strides);
  if (shape.pairs.count == 0) return;
  visit_float(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWidth = kVectors ? kVector<T> : 1;
    const dim3 blocks = blocks_for(shape.pairs.count, kBlock * kWidth);
    shape.few = sizeof(T) == 2 && blocks.x <= kFewBlocks;
    launch_early({blocks, kBlock, 0, stream_of(args)}, pairs<T, kWidth>, shape, static_cast<const T*>(x.data),
                 static_cast<const T*>(args.in[1].data), static_cast<const T*>(args.in[2].data),
                 static_cast<T*>(args.out[0].data));
  });
}

const char* declines_vectors(const ops::Rotary& op, const Case& c) {
  if (const char* why = over_rank(c)) return why;
  if (op.interleaved) return "pairs are interleaved";
  const size_t rank = c.in[0].type->shape.size();
  const auto width = static_cast<int64_t>(16 / size_of(c.in[0].type->dtype));
  if (c.in[0].type->shape[rank - 1] % (2 * width) != 0) return "half a row is not a number of 16-byte vectors";
  for (const Operand* operand : {&c.in[0], &c.in[1], &c.in[2], &c.out[0]}) {
    const AxisStrides strides = strides_in(*operand->type, rank);
    if (strides[rank - 1] != 1) return "an operand's last axis is not contiguous";
    bool aligned = operand->alignment_bytes % 16 == 0;
    for (size_t i = 0; i + 1 < rank; ++i) aligned &= strides[i] % width == 0;
    if (!aligned) return "rows are not aligned to 16 bytes";
  }
  return nullptr;
}

constexpr Kernel kKernels[] = {
    {.name = "vectors",
     .declines = As<ops::Rotary>::fn<declines_vectors>,
     .run = As<ops::Rotary>::fn<run<true>>,
     .in_place = 1},
    {.name = "pairs",
     .declines = As<ops::Rotary>::fn<rank_over_8<ops::Rotary>>,
     .run = As<ops::Rotary>::fn<run<false>>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels rotary_cuda_kernels = kKernels;

}  // namespace plica
