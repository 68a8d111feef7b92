#include <algorithm>
#include <vector>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/map_hot.h"
#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

#define PLICA_HOT(name, text, inputs, value) PLICA_HOT_MASKED(name, text, inputs, value, -1)
#define PLICA_HOT_MASKED(name, text, inputs, value, mask)     \
  struct name {                                               \
    static constexpr int kInputs = inputs, kMask = mask;      \
    template <class T>                                        \
    __device__ static float eval(const float (&x)[kInputs]) { \
      return value;                                           \
    }                                                         \
  };
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT_MASKED

template <int V, int kRank>
__device__ void fetch_mask(const MapVectors& map, const MapOperand& operand, const MapPlace<kRank>& place,
                           Pack<uint8_t, V>& mask) {
  const int64_t step = operand.access == MapAccess::kRepeated ? 0 : operand.stride[kRank == 1 ? 0 : map.rank - 1];
  const auto* x = static_cast<const uint8_t*>(operand.data) + place.offset(map, operand);
#pragma unroll
  for (int j = 0; j < V; ++j)
    if (j < place.valid) mask.v[j] = x[j * step];
}

// A thread makes kUnits vectors of V elements, all loads before the first value.
template <class Expression, class T, int V, int kUnits, int kRank>
__global__ void __launch_bounds__(kBlock) compiled(const __grid_constant__ MapVectors map) {
  constexpr int kInputs = Expression::kInputs;
  wait_for_earlier();
  MapPlace<kRank> place[kUnits];
  RawPack<T, V> in[kUnits][kInputs];
  Pack<uint8_t, V> mask[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    place[u].find(map, ((int64_t{blockIdx.x} * kUnits + u) * kBlock + threadIdx.x) * V, V);
#pragma unroll
    for (int n = 0; n < kInputs; ++n) {
      if (n == Expression::kMask)
        fetch_mask<V>(map, map.in[n], place[u], mask[u]);
      else
        fetch_typed<T, V>(map, map.in[n], place[u], in[u][n]);
    }
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (place[u].valid == 0) return;
    float value[kInputs][V], out[V];
#pragma unroll
    for (int n = 0; n < kInputs; ++n)
      if (n != Expression::kMask) unpack<T, V>(in[u][n], value[n]);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      float x[kInputs];
#pragma unroll
      for (int n = 0; n < kInputs; ++n) x[n] = n == Expression::kMask ? static_cast<float>(mask[u].v[j]) : value[n][j];
      out[j] = Expression::template eval<T>(x);
    }
    store_typed<T, V>(map, place[u], out);
  }
}

template <class Expression>
void launch(const MapVectors& map, int width, cudaStream_t stream) {
  visit_16_or_32_bits(map.y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kFull = kVector<T>, kUnits = 2, kSingles = 4;
    visit_rank(map, [&](auto rank) {
      constexpr int kRank = decltype(rank)::value;
      if (width > 1)
        launch_early({blocks_for(map.count, int64_t{kBlock} * kFull * kUnits), kBlock, 0, stream},
                     compiled<Expression, T, kFull, kUnits, kRank>, map);
      else
        launch_early({blocks_for(map.count, int64_t{kBlock} * kSingles), kBlock, 0, stream},
                     compiled<Expression, T, 1, kSingles, kMapAxes>, map);
    });
  });
}

struct HotProgram {
  ops::Program program;
  int mask;  // the input that is a bool; -1: none
};

const std::vector<HotProgram>& hot_programs() {
  static const std::vector<HotProgram> programs = [] {
    std::vector<HotProgram> list;
#define PLICA_HOT_MASKED(name, text, inputs, value, mask) list.push_back({*ops::Program::from_text(text), mask});
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT_MASKED
    return list;
  }();
  return programs;
}

// Whether the programs do the same in one dtype: all instructions of `a` but a last cast are of `dtype` or f32.
bool are_alike(const ops::Program& a, const ops::Program& b, DType dtype) {
  size_t count = a.instructions.size();
  if (count > 1 && a.instructions.back().fn == ops::Fn::kCast && a.instructions.back().dtype == dtype &&
      a.instructions.back().a == a.num_inputs + static_cast<int>(count) - 2)
    --count;
  const auto are_equal = [](double x, double y) { return static_cast<float>(x) == static_cast<float>(y); };
  if (a.num_inputs != b.num_inputs || !std::ranges::equal(a.immediates, b.immediates, are_equal) ||
      count != b.instructions.size())
    return false;
  for (size_t i = 0; i < count; ++i) {
    ops::Instruction other = b.instructions[i];
    other.dtype = a.instructions[i].dtype;
    const bool is_rounded = other.dtype == dtype && b.immediates.empty();  // numbers are those of f32
    if (!(a.instructions[i] == other) || (!is_rounded && other.dtype != DType::kF32)) return false;
  }
  return true;
}

bool fits(const Case& c, DType dtype, int mask) {
  for (size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].type->dtype != (static_cast<int>(i) == mask ? DType::kBool : dtype)) return false;
  return true;
}

}  // namespace

int find_hot(const ops::Program& program, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return -1;
  const ops::Program plain = without_widening(program, c);
  const std::vector<HotProgram>& programs = hot_programs();
  for (size_t i = 0; i < programs.size(); ++i)
    if (fits(c, dtype, programs[i].mask) && are_alike(plain, programs[i].program, dtype)) return static_cast<int>(i);
  return -1;
}

void run_hot(int index, const KernelArgs& args) {
  MapVectors map;
  if (!map_vectors(args, map) || map.count == 0) return;
  const std::array widths{static_cast<int>(16 / size_of(map.y.dtype)), 1};
  const int width = set_width(map, widths);
  int at = 0;
#define PLICA_HOT_MASKED(name, text, inputs, value, mask) \
  if (index == at++) launch<name>(map, width, stream_of(args));
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT_MASKED
#undef PLICA_HOT
}

}  // namespace plica::cuda
