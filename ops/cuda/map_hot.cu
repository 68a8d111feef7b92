#include <vector>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/map_hot.h"
#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

#define PLICA_HOT(name, text, inputs, value)                  \
  struct name {                                               \
    static constexpr int kInputs = inputs;                    \
    template <class T>                                        \
    __device__ static float eval(const float (&x)[kInputs]) { \
      return value;                                           \
    }                                                         \
  };
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT

// A thread makes kUnits vectors of V elements, all loads before the first value.
template <class Expression, class T, int V, int kUnits, int kRank>
__global__ void __launch_bounds__(kBlock) compiled(const __grid_constant__ MapVectors map) {
  constexpr int kInputs = Expression::kInputs;
  wait_for_earlier();
  MapPlace<kRank> place[kUnits];
  RawPack<T, V> in[kUnits][kInputs];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    place[u].find(map, ((int64_t{blockIdx.x} * kUnits + u) * kBlock + threadIdx.x) * V, V);
#pragma unroll
    for (int n = 0; n < kInputs; ++n) fetch_typed<T, V>(map, map.in[n], place[u], in[u][n]);
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (place[u].valid == 0) return;
    float value[kInputs][V], out[V];
#pragma unroll
    for (int n = 0; n < kInputs; ++n) unpack<T, V>(in[u][n], value[n]);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      float x[kInputs];
#pragma unroll
      for (int n = 0; n < kInputs; ++n) x[n] = value[n][j];
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

// Whether the programs do the same in one dtype: all instructions of `a` but a last cast are of `dtype` or f32.
bool are_alike(const ops::Program& a, const ops::Program& b, DType dtype) {
  size_t count = a.instructions.size();
  if (count > 1 && a.instructions.back().fn == ops::Fn::kCast && a.instructions.back().dtype == dtype &&
      a.instructions.back().a == a.num_inputs + static_cast<int>(count) - 2)
    --count;
  if (a.num_inputs != b.num_inputs || a.immediates != b.immediates || count != b.instructions.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    ops::Instruction other = b.instructions[i];
    other.dtype = a.instructions[i].dtype;
    if (!(a.instructions[i] == other) || (other.dtype != dtype && other.dtype != DType::kF32)) return false;
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
  const ops::Program plain = without_widening(program, c);
  for (size_t i = 0; i < programs.size(); ++i)
    if (are_alike(plain, programs[i], dtype)) return static_cast<int>(i);
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
