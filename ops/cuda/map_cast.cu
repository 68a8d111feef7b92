#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/map_cast.h"
#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

// A thread casts kUnits vectors of V elements, all loads before the first value.
template <class From, class To, int V, int kUnits, int kRank>
__global__ void __launch_bounds__(kBlock) cast(const __grid_constant__ MapVectors map) {
  wait_for_earlier();
  MapPlace<kRank> place[kUnits];
  RawPack<From, V> in[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    place[u].find(map, ((int64_t{blockIdx.x} * kUnits + u) * kBlock + threadIdx.x) * V, V);
    fetch_typed<From, V>(map, map.in[0], place[u], in[u]);
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (place[u].valid == 0) return;
    float value[V];
    unpack<From, V>(in[u], value);
    store_typed<To, V>(map, place[u], value);
  }
}

template <class From, class To>
void launch(const MapVectors& map, int width, cudaStream_t stream) {
  constexpr int kFull = 4, kUnits = 4, kSingles = 4;  // 16 bytes of f32: neighbours touch one another
  visit_rank(map, [&](auto rank) {
    constexpr int kRank = decltype(rank)::value;
    if (width > 1)
      launch_early({blocks_for(map.count, int64_t{kBlock} * kFull * kUnits), kBlock, 0, stream},
                   cast<From, To, kFull, kUnits, kRank>, map);
    else
      launch_early({blocks_for(map.count, int64_t{kBlock} * kSingles), kBlock, 0, stream},
                   cast<From, To, 1, kSingles, kMapAxes>, map);
  });
}

bool is_short_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

bool is_float_cast(const ops::Program& program, const Case& c) {
  return program.instructions.size() == 1 && program.instructions[0].fn == ops::Fn::kCast && c.in.size() == 1 &&
         is_short_float(c.in[0].type->dtype) && is_short_float(c.out[0].type->dtype);
}

void run_float_cast(const KernelArgs& args) {
  MapVectors map;
  if (!map_vectors(args, map) || map.count == 0) return;
  constexpr std::array kWidths{4, 1};
  const int width = set_width(map, kWidths);
  visit_16_or_32_bits(map.in[0].dtype, [&](auto from) {
    visit_16_or_32_bits(map.y.dtype, [&](auto to) {
      launch<typename decltype(from)::type, typename decltype(to)::type>(map, width, stream_of(args));
    });
  });
}

}  // namespace plica::cuda
