#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/map_vectors.cuh"
#include "ops/cuda/product_parts.h"

namespace plica::cuda {
namespace {

using ops::Activation;

template <int V, class Fn>
__device__ void each(float (&value)[V], Fn&& fn) {
#pragma unroll
  for (float& x : value) x = fn(x);
}

template <int V>
__device__ void activate(Activation activation, float (&value)[V]) {
  switch (activation) {
    case Activation::kRelu: return each(value, [](float x) { return relu(x); });
    case Activation::kGelu: return each(value, [](float x) { return gelu(x); });
    case Activation::kGeluTanh: return each(value, [](float x) { return gelu_tanh(x); });
    case Activation::kSilu: return each(value, [](float x) { return silu(x); });
    case Activation::kSigmoid: return each(value, [](float x) { return sigmoid(x); });
    case Activation::kTanh: return each(value, [](float x) { return tanhf(x); });
    default: return;
  }
}

// A thread finishes V neighbouring elements of y. Inputs of the map: bias, gate and residual, as far as present.
template <class T, int V, int kRank>
__global__ void __launch_bounds__(kBlock) finish_vectors(const __grid_constant__ MapVectors map, FinishProduct finish) {
  MapPlace<kRank> place;
  place.find(map, (int64_t{blockIdx.x} * kBlock + threadIdx.x) * V, V);
  if (place.valid == 0) return;
  float value[V], other[V];
  int next = 0;
  const auto load = [&](const MapOperand& operand, float(&to)[V]) { load_typed<T, V>(map, operand, place, to); };
  load(map.y, value);
  if (finish.bias) {
    load(map.in[next++], other);
#pragma unroll
    for (int j = 0; j < V; ++j) value[j] += other[j];
  }
  activate(finish.activation, value);
  if (finish.gate) {
    load(map.in[next++], other);
    if (finish.gate_sigmoid) each(other, [](float x) { return sigmoid(x); });
#pragma unroll
    for (int j = 0; j < V; ++j) value[j] *= other[j];
  }
  if (finish.residual) {
    load(map.in[next++], other);
#pragma unroll
    for (int j = 0; j < V; ++j) value[j] += other[j];
  }
  store_typed<T, V>(map, place, value);
}

// A thread splits one element; operands of the layout: x, to.
__global__ void __launch_bounds__(kBlock)
    split_elements(const __grid_constant__ Layout<2> layout, const float* __restrict__ x, float* __restrict__ to,
                   bool low_first, int64_t part_step) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= layout.count) return;
  int64_t at[2];
  layout.offsets(linear, at);
  const float value = x[at[0]];
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  const float high = __uint_as_float(bits);
  const float low = isfinite(high) ? value - high : 0.0f;
  to[at[1]] = low_first ? low : high;
  to[at[1] + part_step] = low_first ? high : low;
  to[at[1] + 2 * part_step] = high;
}

}  // namespace

void finish_product(const FinishProduct& finish, const KernelArgs& args) {
  TensorView in[3];
  size_t count = 0;
  if (finish.bias) in[count++] = args.in[2];
  if (finish.gate) in[count++] = args.in[3];
  if (finish.residual) in[count++] = args.in[4];
  KernelArgs parts = args;
  parts.in = std::span<const TensorView>(in, count);
  MapVectors map;
  if (!map_vectors(parts, map) || map.count == 0) return;
  const std::array widths{static_cast<int>(16 / size_of(map.y.dtype)), 1};
  const bool vectors = set_width(map, widths) > 1;
  visit_16_or_32_bits(map.y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kFull = kVector<T>;
    visit_rank(map, [&](auto rank) {
      constexpr int kRank = decltype(rank)::value;
      if (vectors)
        finish_vectors<T, kFull, kRank>
            <<<blocks_for(map.count, int64_t{kBlock} * kFull), kBlock, 0, stream_of(args)>>>(map, finish);
      else
        finish_vectors<T, 1, kMapAxes><<<blocks_for(map.count, kBlock), kBlock, 0, stream_of(args)>>>(map, finish);
    });
  });
}

const char* finish_product_declines(const Case& c) {
  std::array<Operand, 3> in;
  size_t count = 0;
  for (size_t i = 2; i < 5; ++i)
    if (c.has(i)) in[count++] = c.in[i];
  Case parts = c;
  parts.in = std::span<const Operand>(in).first(count);
  return map_vectors_decline(parts);
}

void split_tf32(const SplitTf32& split, const TensorView& x, float* to, void* stream) {
  const Layout<2> layout = make_layout<2>(x.type.shape, {strides_in(x.type, x.type.shape.size()), split.to_strides});
  if (layout.count == 0) return;
  split_elements<<<blocks_for(layout.count, kBlock), kBlock, 0, static_cast<cudaStream_t>(stream)>>>(
      layout, static_cast<const float*>(x.data), to, split.low_first, split.part_step);
}

}  // namespace plica::cuda
