#include <vector>

#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/map_hot.h"
#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

template <class T>
struct Rounding {
  static constexpr bool k16Bits = sizeof(T) == 2;
  __device__ float operator()(float x) const { return widen(narrow<T>(x)); }
};

// Abramowitz and Stegun 7.1.26: erf to 1.5e-7, far below what 16 bits hold.
__device__ float erf_short(float x) {
  const float z = fabsf(x), t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
  const float p =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return copysignf(1.0f - p * __expf(-z * z), x);
}

template <class R>
__device__ float gelu(float x, R) {
  if constexpr (R::k16Bits)
    return 0.5f * x * (1.0f + erf_short(x * 0.707106781f));
  else
    return cuda::gelu(x);
}

#define PLICA_HOT(name, text, inputs, value)                       \
  struct name {                                                    \
    static constexpr int kInputs = inputs;                         \
    template <class R>                                             \
    __device__ static float eval(const float (&x)[kInputs], R r) { \
      (void)r;                                                     \
      return value;                                                \
    }                                                              \
  };
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT

// A thread makes kUnits vectors of V elements, all loads before the first value.
template <class Expression, class T, int V, int kUnits, int kRank>
__global__ void __launch_bounds__(kBlock) compiled(const __grid_constant__ MapVectors map) {
  constexpr int kInputs = Expression::kInputs;
  MapPlace<kRank> place[kUnits];
  float in[kUnits][kInputs][V], out[V];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    place[u].find(map, ((int64_t{blockIdx.x} * kUnits + u) * kBlock + threadIdx.x) * V, V);
#pragma unroll
    for (int n = 0; n < kInputs; ++n) load_typed<T, V>(map, map.in[n], place[u], in[u][n]);
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (place[u].valid == 0) return;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      float x[kInputs];
#pragma unroll
      for (int n = 0; n < kInputs; ++n) x[n] = in[u][n][j];
      out[j] = Expression::eval(x, Rounding<T>{});
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
        compiled<Expression, T, kFull, kUnits, kRank>
            <<<blocks_for(map.count, int64_t{kBlock} * kFull * kUnits), kBlock, 0, stream>>>(map);
      else
        compiled<Expression, T, 1, kSingles, kMapAxes>
            <<<blocks_for(map.count, int64_t{kBlock} * kSingles), kBlock, 0, stream>>>(map);
    });
  });
}

const std::vector<ops::Program>& hot_programs() {
  static const std::vector<ops::Program> programs = [] {
    std::vector<ops::Program> list;
#define PLICA_HOT(name, text, inputs, value) list.push_back(*ops::Program::from_text(text));
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT
    return list;
  }();
  return programs;
}

bool equal_but_for_dtype(const ops::Program& a, const ops::Program& b) {
  if (a.num_inputs != b.num_inputs || a.immediates != b.immediates || a.instructions.size() != b.instructions.size())
    return false;
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    ops::Instruction other = b.instructions[i];
    other.dtype = a.instructions[i].dtype;
    if (!(a.instructions[i] == other)) return false;
  }
  return true;
}

}  // namespace

int find_hot(const ops::Program& program, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return -1;
  for (const Operand& operand : c.in)
    if (operand.type->dtype != dtype) return -1;
  const std::vector<ops::Program>& programs = hot_programs();
  for (size_t i = 0; i < programs.size(); ++i)
    if (equal_but_for_dtype(program, programs[i])) return static_cast<int>(i);
  return -1;
}

void run_hot(int index, const KernelArgs& args) {
  MapVectors map;
  if (!map_vectors(args, map) || map.count == 0) return;
  const std::array widths{static_cast<int>(16 / size_of(map.y.dtype)), 1};
  const int width = set_width(map, widths);
  int at = 0;
#define PLICA_HOT(name, text, inputs, value) \
  if (index == at++) launch<name>(map, width, stream_of(args));
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT
}

}  // namespace plica::cuda
