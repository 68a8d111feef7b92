#include <optional>

#include "ops/cuda/activation.cuh"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/map_vectors.cuh"
#include "ops/cuda/product_parts.h"

namespace plica::cuda {
namespace {

template <int V, class Fn>
__device__ void combine(float (&value)[V], const float (&other)[V], Fn&& fn) {
#pragma unroll
  for (int j = 0; j < V; ++j) value[j] = fn(value[j], other[j]);
}

// Applies the epilogue to V values of y, with V of each operand.
template <class T, int V>
__device__ void finish_values(const FinishProduct& finish, const float (&bias)[V], const RawPack<T, V>& gate,
                              const RawPack<T, V>& residual, float (&value)[V]) {
  float other[V];
  if (finish.bias) combine(value, bias, [](float x, float b) { return x + b; });
  activate<T>(finish.activation, value);
  if (finish.gate) {
    unpack<T, V>(gate, other);
    if (finish.gate_sigmoid) each(other, [](float x) { return sigmoid(x); });
    combine(value, other, [](float x, float g) { return x * g; });
  }
  if (finish.residual) {
    unpack<T, V>(residual, other);
    combine(value, other, [](float x, float r) { return x + r; });
  }
}

// A thread finishes V neighbouring elements of y. Inputs of the map: bias, gate and residual, as far as present.
template <class T, int V, int kRank>
__global__ void __launch_bounds__(kBlock) finish_vectors(const __grid_constant__ MapVectors map, FinishProduct finish) {
  wait_for_earlier();
  MapPlace<kRank> place;
  place.find(map, (int64_t{blockIdx.x} * kBlock + threadIdx.x) * V, V);
  if (place.valid == 0) return;
  float value[V], bias[V] = {};
  RawPack<T, V> gate{}, residual{};
  int next = 0;
  load_typed<T, V>(map, map.y, place, value);
  if (finish.bias) load_typed<T, V>(map, map.in[next++], place, bias);
  if (finish.gate) fetch_typed<T, V>(map, map.in[next++], place, gate);
  if (finish.residual) fetch_typed<T, V>(map, map.in[next++], place, residual);
  finish_values<T, V>(finish, bias, gate, residual, value);
  store_typed<T, V>(map, place, value);
}

// y (rows, columns) and what its epilogue reads, as rows of whole 16-byte vectors.
struct FinishRows {
  int64_t rows = 0, vectors = 0;  // vectors of a row
  Divider by_vectors;
  int64_t y_row = 0, gate_row = 0, residual_row = 0;
  void* y = nullptr;
  const void *bias = nullptr, *gate = nullptr, *residual = nullptr;  // (columns), (rows, columns), (rows, columns)
};

constexpr int kRowsAThread = 4;
constexpr int64_t kManyVectors = 1 << 18;  // fewer are finished one a thread: more threads, less work for each

// A thread finishes one vector of kRowsAThread rows: the bias is read once, and all loads come before the first value.
template <class T>
__global__ void __launch_bounds__(kBlock) finish_rows(const __grid_constant__ FinishRows p, FinishProduct finish) {
  constexpr int V = kVector<T>;
  wait_for_earlier();
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  const int64_t group = p.by_vectors(static_cast<uint32_t>(linear)), first = group * kRowsAThread;
  if (first >= p.rows) return;
  const int64_t column = (linear - group * p.vectors) * V;
  const auto at = [&](const void* data, int64_t step, int r) {
    return reinterpret_cast<const RawPack<T, V>*>(static_cast<const T*>(data) + (first + r) * step + column);
  };
  RawPack<T, V> y[kRowsAThread], gate[kRowsAThread], residual[kRowsAThread], bias_pack{};
  if (finish.bias) bias_pack = *reinterpret_cast<const RawPack<T, V>*>(static_cast<const T*>(p.bias) + column);
#pragma unroll
  for (int r = 0; r < kRowsAThread; ++r) {
    if (first + r >= p.rows) break;
    y[r] = *at(p.y, p.y_row, r);
    if (finish.gate) gate[r] = *at(p.gate, p.gate_row, r);
    if (finish.residual) residual[r] = *at(p.residual, p.residual_row, r);
  }
  float bias[V];
  unpack<T, V>(bias_pack, bias);
#pragma unroll
  for (int r = 0; r < kRowsAThread; ++r) {
    if (first + r >= p.rows) break;
    float value[V];
    unpack<T, V>(y[r], value);
    finish_values<T, V>(finish, bias, gate[r], residual[r], value);
    *reinterpret_cast<Pack<T, V>*>(static_cast<T*>(p.y) + (first + r) * p.y_row + column) = put_together<T, V>(value);
  }
}

// The operands as rows; none where they are not whole vectors, or rows do not lie one step apart.
std::optional<FinishRows> rows_of(const FinishProduct& finish, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const size_t rank = y.type.shape.size(), last = rank - 1;
  const auto width = static_cast<int64_t>(16 / size_of(y.type.dtype));
  std::array<AxisStrides, 3> strides{strides_in(y.type, rank)};
  std::array<const TensorView*, 3> views{&y, nullptr, nullptr};
  if (finish.gate) views[1] = &args.in[3];
  if (finish.residual) views[2] = &args.in[4];
  FinishRows p;
  p.vectors = y.type.shape[last] / width;
  bool fits = y.type.shape[last] % width == 0;
  for (size_t i = 0; i < 3; ++i) {
    if (views[i] == nullptr) continue;
    strides[i] = strides_in(views[i]->type, rank);
    fits &= strides[i][last] == 1 && is_aligned(views[i]->data, 16);
  }
  if (finish.bias) fits &= strides_in(args.in[2].type, 1)[0] == 1 && is_aligned(args.in[2].data, 16);
  const auto rows = make_layout(std::span<const int64_t>(y.type.shape).first(last), strides);
  for (int i = 0; i < 3; ++i) fits &= rows.stride[i][0] % width == 0;
  p.rows = rows.count;
  const int64_t threads = ceil_div(p.rows, kRowsAThread) * p.vectors;
  if (!fits || rows.rank > 1 || p.rows * p.vectors < kManyVectors || threads + kBlock >= int64_t{1} << 31)
    return std::nullopt;
  p.by_vectors = Divider(static_cast<uint32_t>(p.vectors));
  p.y_row = rows.stride[0][0], p.gate_row = rows.stride[1][0], p.residual_row = rows.stride[2][0];
  p.y = y.data;
  if (finish.bias) p.bias = args.in[2].data;
  if (finish.gate) p.gate = args.in[3].data;
  if (finish.residual) p.residual = args.in[4].data;
  return p;
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
  float high = __uint_as_float(bits);
  if (isfinite(value) && !isfinite(high)) high = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  const float low = isfinite(high) ? value - high : 0.0f, finite = isfinite(high) ? high : 0.0f;
  to[at[1]] = low_first ? low : finite;
  to[at[1] + part_step] = low_first ? finite : low;
  to[at[1] + 2 * part_step] = high;
}

}  // namespace

void finish_product(const FinishProduct& finish, const KernelArgs& args) {
  if (const auto rows = rows_of(finish, args)) {
    return visit_16_or_32_bits(args.out[0].type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t threads = ceil_div(rows->rows, kRowsAThread) * rows->vectors;
      launch_early({blocks_for(threads, kBlock), kBlock, 0, stream_of(args)}, finish_rows<T>, *rows, finish);
    });
  }
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
        launch_early({blocks_for(map.count, int64_t{kBlock} * kFull), kBlock, 0, stream_of(args)},
                     finish_vectors<T, kFull, kRank>, map, finish);
      else
        launch_early({blocks_for(map.count, kBlock), kBlock, 0, stream_of(args)}, finish_vectors<T, 1, kMapAxes>, map,
                     finish);
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
