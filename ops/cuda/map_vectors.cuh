#pragma once

#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/map_code.h"
#include "ops/cuda/map_vectors.h"
#include "ops/cuda/raw_pack.cuh"

namespace plica::cuda {

constexpr int kMapAxes = 4;  // after merging; what a thread keeps an index for

// How an operand is read along the innermost axis.
enum class MapAccess : uint8_t { kVector, kRepeated, kStrided };

struct MapOperand {
  void* data = nullptr;
  DType dtype = DType::kF32;
  uint8_t element_bytes = 4;
  MapAccess access = MapAccess::kStrided;
  int64_t stride[kMapAxes] = {};
};

// The operands of a Map seen in vectors along the merged innermost axis.
struct MapVectors {
  int rank = 0, num_inputs = 0;
  bool narrow = true;
  int64_t count = 0;
  int64_t size[kMapAxes] = {};
  Divider divider[kMapAxes];
  MapOperand y, in[kMapInputs];
};

// Where the vector of a thread starts. kRank: 1 where all operands merge to one axis, else kMapAxes.
template <int kRank>
struct MapPlace {
  int64_t index[kRank];
  int valid;  // elements of it that exist

  __device__ void find(const MapVectors& map, int64_t linear, int width) {
    const int64_t left = map.count - linear;
    valid = left <= 0 ? 0 : left < width ? static_cast<int>(left) : width;
    int64_t rest = left <= 0 ? 0 : linear;
#pragma unroll
    for (int axis = kRank - 1; axis > 0; --axis) {
      index[axis] = 0;
      if (axis >= map.rank) continue;
      const int64_t quotient = map.narrow ? map.divider[axis](static_cast<uint32_t>(rest)) : rest / map.size[axis];
      index[axis] = rest - quotient * map.size[axis];
      rest = quotient;
    }
    index[0] = rest;
  }
  __device__ int64_t offset(const MapVectors& map, const MapOperand& operand) const {
    int64_t at = index[0] * operand.stride[0];
    if constexpr (kRank > 1) {
      at += index[1] * operand.stride[1];
      if (map.rank > 2) at += index[2] * operand.stride[2] + index[3] * operand.stride[3];
    }
    return at;
  }
};

template <class T>
__device__ float as_float(T x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<float>(x);
  else
    return widen(x);
}

// V values of an operand as they stand in memory: nothing waits for them yet. T: float, F16 or BF16.
template <class T, int V, int kRank>
__device__ void fetch_typed(const MapVectors& map, const MapOperand& operand, const MapPlace<kRank>& place,
                            RawPack<T, V>& raw) {
  const int64_t step = operand.stride[kRank == 1 ? 0 : map.rank - 1];
  const T* x = static_cast<const T*>(operand.data) + place.offset(map, operand);
  if (place.valid == 0) return;
  if (operand.access == MapAccess::kVector && place.valid == V) {
    raw = *reinterpret_cast<const RawPack<T, V>*>(x);
    return;
  }
  Pack<T, V> pack{};
  if (operand.access == MapAccess::kRepeated) {
    const T one = *x;
#pragma unroll
    for (int j = 0; j < V; ++j) pack.v[j] = one;
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j < place.valid) pack.v[j] = x[j * step];
  }
  raw = raw_pack(pack);
}

template <class T, int V>
__device__ void unpack(const RawPack<T, V>& raw, float* value) {
  take_apart<T, V>(raw, [&](int i, float x) { value[i] = x; });
}

template <class T, int V, int kRank>
__device__ void load_typed(const MapVectors& map, const MapOperand& operand, const MapPlace<kRank>& place,
                           float* value) {
  const int64_t step = operand.stride[kRank == 1 ? 0 : map.rank - 1];
  const T* x = static_cast<const T*>(operand.data) + place.offset(map, operand);
  if (place.valid == 0) return;
  if (operand.access == MapAccess::kRepeated) {
    const float one = as_float(*x);
#pragma unroll
    for (int j = 0; j < V; ++j) value[j] = one;
  } else if (operand.access == MapAccess::kVector && place.valid == V) {
    const auto pack = *reinterpret_cast<const Pack<T, V>*>(x);
#pragma unroll
    for (int j = 0; j < V; ++j) value[j] = as_float(pack.v[j]);
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (j < place.valid) value[j] = as_float(x[j * step]);
  }
}

// i32 or i64, element by element.
template <int V, int kRank>
__device__ void load_integers(const MapVectors& map, const MapOperand& operand, const MapPlace<kRank>& place,
                              float* value) {
  const int64_t step = operand.stride[kRank == 1 ? 0 : map.rank - 1], at = place.offset(map, operand);
#pragma unroll
  for (int j = 0; j < V; ++j)
    if (j < place.valid)
      value[j] = static_cast<float>(read_index(operand.data, at + j * step, operand.dtype == DType::kI64));
}

// V values of an input as fp32.
template <int V, int kRank>
__device__ void load_vector(const MapVectors& map, const MapOperand& operand, const MapPlace<kRank>& place,
                            float* value) {
  switch (operand.dtype) {
    case DType::kF32: return load_typed<float, V>(map, operand, place, value);
    case DType::kF16: return load_typed<F16, V>(map, operand, place, value);
    case DType::kBF16: return load_typed<BF16, V>(map, operand, place, value);
    case DType::kI32:
    case DType::kI64: return load_integers<V>(map, operand, place, value);
    default: return load_typed<uint8_t, V>(map, operand, place, value);
  }
}

template <class T, int V, int kRank>
__device__ void store_typed(const MapVectors& map, const MapPlace<kRank>& place, const float* value) {
  const MapOperand& y = map.y;
  const int64_t step = y.stride[kRank == 1 ? 0 : map.rank - 1];
  T* to = static_cast<T*>(y.data) + place.offset(map, y);
  const Pack<T, V> pack = put_together<T, V>(value);
  if (y.access == MapAccess::kVector && place.valid == V) {
    *reinterpret_cast<Pack<T, V>*>(to) = pack;
    return;
  }
#pragma unroll
  for (int j = 0; j < V; ++j)
    if (j < place.valid) to[j * step] = pack.v[j];
}

template <int V, int kRank>
__device__ void store_vector(const MapVectors& map, const MapPlace<kRank>& place, const float* value) {
  switch (map.y.dtype) {
    case DType::kF32: return store_typed<float, V>(map, place, value);
    case DType::kF16: return store_typed<F16, V>(map, place, value);
    case DType::kBF16: return store_typed<BF16, V>(map, place, value);
    default: return store_typed<uint8_t, V>(map, place, value);
  }
}

// Calls fn(integral_constant<int, R>{}) with the kRank of a map.
template <class Fn>
void visit_rank(const MapVectors& map, Fn&& fn) {
  if (map.rank == 1)
    fn(std::integral_constant<int, 1>{});
  else
    fn(std::integral_constant<int, kMapAxes>{});
}

// Fills in all but the layout's use of a width; false where the merged axes are too many.
bool map_vectors(const KernelArgs& args, MapVectors& map);
// The first of `widths` (the last is 1) that rows are a whole number of, or the first where there is one row only, whose
// end is taken element by element. Sets how each operand is read at that width.
int set_width(MapVectors& map, std::span<const int> widths);

}  // namespace plica::cuda
