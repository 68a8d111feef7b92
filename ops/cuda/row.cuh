// Long because every step of a row held in registers is in one place.
#pragma once

#include <initializer_list>

#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/raw_pack.cuh"

namespace plica::cuda {

// What kernels that work on the last axis need of their shape: leading axes (x and y) and the axis itself.
struct Rows {
  Layout<2> outer;  // x, y
  int64_t width = 0, x_step = 0, y_step = 0;
};

inline Rows rows_of(const TensorView& x, const TensorView& y) {
  const size_t rank = x.type.shape.size(), last = rank - 1;
  const AxisStrides of_x = strides_in(x.type, rank), of_y = strides_in(y.type, rank);
  return {make_layout<2>(std::span(x.type.shape).first(last), {of_x, of_y}), x.type.shape[last], of_x[last],
          of_y[last]};
}

constexpr int kTileVectors = 256 * 5;  // the longest row that Tile holds, in accesses of 16 bytes or of one element

// Whether rows of in[0] and out[0], and operands (C) that all rows share, can be read 16 bytes an access.
inline bool rows_are_vectors(std::initializer_list<const Operand*> rows, std::initializer_list<const Operand*> shared) {
  const TensorType& x = *(*rows.begin())->type;
  const auto width = static_cast<int64_t>(16 / size_of(x.dtype));
  const size_t rank = x.shape.size();
  bool fits = x.shape.back() % width == 0;
  for (const Operand* operand : rows) {
    const AxisStrides strides = strides_in(*operand->type, rank);
    fits &= strides[rank - 1] == 1 && operand->alignment_bytes % 16 == 0;
    for (size_t i = 0; i + 1 < rank; ++i) fits &= strides[i] % width == 0;
  }
  for (const Operand* operand : shared)
    fits &= operand->type == nullptr || (strides_in(*operand->type, 1)[0] == 1 && operand->alignment_bytes % 16 == 0);
  return fits;
}

// Why rows cannot be held in registers, or null.
inline const char* tile_declines(const Case& c, bool vectors) {
  if (const char* why = over_rank(c)) return why;
  const TensorType& x = *c.in[0].type;
  if (x.dtype == DType::kF64) return "f64 rows are not held in registers";
  const int64_t accesses = vectors ? x.shape.back() * static_cast<int64_t>(size_of(x.dtype)) / 16 : x.shape.back();
  return accesses > kTileVectors ? "a row does not fit a block's registers" : nullptr;
}

// A row held in the registers of kLanes neighbouring threads (up to a block): kSteps accesses of kWidth elements each.
template <int kWidth_, int kLanes_, int kSteps_>
struct Tile {
  static constexpr int kWidth = kWidth_, kLanes = kLanes_, kSteps = kSteps_, kValues = kWidth * kSteps;
  static constexpr int kRowsPerBlock = kBlock / kLanes;

  __device__ static int lane() { return threadIdx.x % kLanes; }
  __device__ static int64_t row() { return int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kLanes; }

  // fn(i, access): i is the first of the access's kWidth values in registers.
  template <class Fn>
  __device__ static void for_each_access(int64_t width, Fn&& fn) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      const int access = step * kLanes + lane();
      if (int64_t{access} * kWidth < width) fn(step * kWidth, access);
    }
  }

  // A row as it stands in memory: nothing waits for it yet.
  template <class T>
  using Raw = RawPack<T, kWidth>[kSteps];

  // `step`: from one element of the row to the next; 1 where kWidth is more than 1.
  template <class T>
  __device__ static void fetch(const T* row, int64_t step, int64_t width, RawPack<T, kWidth> (&raw)[kSteps]) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int access = i * kLanes + lane();
      if (int64_t{access} * kWidth < width)
        raw[i] = *reinterpret_cast<const RawPack<T, kWidth>*>(row + (kWidth > 1 ? access * kWidth : access * step));
    }
  }
  template <class T>
  __device__ static void unpack(const RawPack<T, kWidth> (&raw)[kSteps], int64_t width, float fill,
                                float (&value)[kValues]) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const bool inside = int64_t{i * kLanes + lane()} * kWidth < width;
      take_apart<T, kWidth>(raw[i], [&](int k, float x) { value[i * kWidth + k] = inside ? x : fill; });
    }
  }
  template <class T>
  __device__ static void load(const T* row, int64_t step, int64_t width, float fill, float (&value)[kValues]) {
    Raw<T> raw;
    fetch(row, step, width, raw);
    unpack<T>(raw, width, fill, value);
  }

  template <class T>
  __device__ static void store(T* row, int64_t step, int64_t width, const float (&value)[kValues]) {
    for_each_access(width, [&](int i, int access) {
      *reinterpret_cast<Pack<T, kWidth>*>(row + (kWidth > 1 ? access * kWidth : access * step)) =
          put_together<T, kWidth>(value + i);
    });
  }
};

constexpr int64_t kFewRows = 1024;  // each gets more lanes: latency counts, and the device is not full anyway

// Calls fn(Tile<...>{}) with a tile of `accesses` of kWidth elements; tile_declines says where there is none.
template <int kWidth, class Fn>
void visit_tile_of(int64_t accesses, bool few_rows, Fn&& fn) {
  if (accesses <= 8) return fn(Tile<kWidth, 8, 1>{});
  if (accesses <= 16) return fn(Tile<kWidth, 16, 1>{});
  if (accesses <= 32) return fn(Tile<kWidth, 32, 1>{});
  if (few_rows) {
    if (accesses <= 64) return fn(Tile<kWidth, 64, 1>{});
    if (accesses <= 128) return fn(Tile<kWidth, 128, 1>{});
    if (accesses <= 256) return fn(Tile<kWidth, 256, 1>{});
    if (accesses <= 512) return fn(Tile<kWidth, 256, 2>{});
  }
  if (accesses <= 64) return fn(Tile<kWidth, 32, 2>{});
  if (accesses <= 128) return fn(Tile<kWidth, 32, 4>{});
  if (accesses <= 192) return fn(Tile<kWidth, 32, 6>{});
  if (accesses <= 320) return fn(Tile<kWidth, 64, 5>{});
  if (accesses <= 640) return fn(Tile<kWidth, 128, 5>{});
  fn(Tile<kWidth, 256, 5>{});
}

template <class T, class Fn>
void visit_tile(const Rows& rows, bool vectors, Fn&& fn) {
  const bool few_rows = rows.outer.count <= kFewRows;
  if (vectors)
    visit_tile_of<kVector<T>>(rows.width / kVector<T>, few_rows, fn);
  else
    visit_tile_of<1>(rows.width, few_rows, fn);
}

struct Sum {
  template <class W>
  __device__ W operator()(W a, W b) const {
    return a + b;
  }
};
// NaN is passed over, as fmax does: a row with a NaN still gives NaN through its sum.
struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

// Over kLanes neighbouring lanes of a warp; all of them get the result.
template <int kLanes, class W, class Op>
__device__ W reduce_lanes(W value, Op op) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// Over the threads of a tile's row. Ends with a barrier of the block where a row has more than a warp.
template <class Tile, class Op>
__device__ float reduce_row(float value, Op op) {
  if constexpr (Tile::kLanes <= kWarp) {
    return reduce_lanes<Tile::kLanes>(value, op);
  } else {
    constexpr int kWarps = Tile::kLanes / kWarp;
    __shared__ float partial[kBlock / kWarp];
    value = reduce_lanes<kWarp>(value, op);
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
    __syncthreads();
    const int first = threadIdx.x / Tile::kLanes * kWarps;
    value = partial[first];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) value = op(value, partial[first + i]);
    __syncthreads();
    return value;
  }
}

// Over a block of kBlock threads; all of them get the result. Ends with a barrier, so that it can be called again.
template <class W, class Op>
__device__ W reduce_block(W value, Op op) {
  __shared__ W partial[kBlock / kWarp];
  value = reduce_lanes<kWarp>(value, op);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = partial[0];
#pragma unroll
  for (int i = 1; i < kBlock / kWarp; ++i) value = op(value, partial[i]);
  __syncthreads();
  return value;
}

// The values of a row that a block works on: kept in shared memory after the first reading where they fit.
template <class T>
struct BlockRow {
  using W = Wide<T>;
  const T* x;  // (width), a step apart
  int64_t step;
  W* kept;  // (width), or null

  __device__ W read(int64_t i) const {
    const W value = widen(x[i * step]);
    if (kept != nullptr) kept[i] = value;
    return value;
  }
  // Of an element that this thread has read before.
  __device__ W again(int64_t i) const { return kept != nullptr ? kept[i] : widen(x[i * step]); }
};

constexpr size_t kBlockRowBytes = 48 * 1024;  // what every block may use without asking

// Shared memory for a BlockRow; 0 where it does not fit.
template <class T>
size_t block_row_bytes(int64_t width) {
  const size_t bytes = static_cast<size_t>(width) * sizeof(Wide<T>);
  return bytes + 1024 <= kBlockRowBytes ? bytes : 0;
}

}  // namespace plica::cuda
