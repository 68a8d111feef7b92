#include <algorithm>
#include <limits>

#include "ops/cuda/row.cuh"
#include "ops/op.h"
#include "ops/reduce.h"

namespace plica {
namespace {

using namespace plica::cuda;
using ops::ReduceKind;

// Sums and products are made in f64 or 64 bits.
template <class T>
using Total = std::conditional_t<std::is_same_v<Wide<T>, float>, double, Wide<T>>;

// Integers of all sizes share the kernels of the 64-bit ones.
template <class T>
__device__ T load_element(const void* x, int64_t at, int bytes) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    switch (bytes) {
      case 1: return static_cast<const std::conditional_t<kSigned, int8_t, uint8_t>*>(x)[at];
      case 2: return static_cast<const std::conditional_t<kSigned, int16_t, uint16_t>*>(x)[at];
      case 4: return static_cast<const std::conditional_t<kSigned, int32_t, uint32_t>*>(x)[at];
      default: break;
    }
  }
  return static_cast<const T*>(x)[at];
}

template <class T, class W>
__device__ void store_element(void* y, int64_t at, int bytes, W value) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, uint64_t>) {
    switch (bytes) {
      case 1: static_cast<uint8_t*>(y)[at] = static_cast<uint8_t>(value); return;
      case 2: static_cast<uint16_t*>(y)[at] = static_cast<uint16_t>(value); return;
      case 4: static_cast<uint32_t*>(y)[at] = static_cast<uint32_t>(value); return;
      default: break;
    }
  }
  static_cast<T*>(y)[at] = narrow<T>(value);
}

template <class W>
struct Shape {
  ReduceKind kind;
  Layout<2> kept;       // y, x
  Layout<1> reduced;    // x
  W start{};            // what an empty range gives
  int64_t chunk = 0;    // of the range, a block's share
  bool divide = false;  // by the count: the mean
  int64_t divisor = 1;
  bool vectors = false;  // ranges are contiguous and aligned: read 16 bytes an access
  int bytes = 0;         // of an element
};

// Sums, and maxima of floats of up to 32 bits, have kernels of their own; those of kAsked do what Shape says.
constexpr int kSum = static_cast<int>(ReduceKind::kSum), kMax = static_cast<int>(ReduceKind::kMax), kAsked = -1;

// Calls fn(op) with what makes one of two values: the kind is asked for once for all that fn does. NaN wins over any number.
template <int kKind, class W, class Fn>
__device__ W with_kind(const Shape<W>& shape, Fn&& fn) {
  switch (kKind == kAsked ? shape.kind : static_cast<ReduceKind>(kKind)) {
    case ReduceKind::kProd: return fn([](W a, W b) { return a * b; });
    case ReduceKind::kMax: return fn([](W a, W b) { return a > b || a != a ? a : b; });
    case ReduceKind::kMin: return fn([](W a, W b) { return a < b || a != a ? a : b; });
    default: return fn([](W a, W b) { return a + b; });
  }
}

template <class W>
__device__ W finish(const Shape<W>& shape, W total) {
  return shape.divide ? total / static_cast<W>(shape.divisor) : total;
}

// The total of every kStep-th value of [first, end); eight loads in flight.
template <int kKind, int kStep, class T, class W>
__device__ W accumulate(const Shape<W>& shape, const void* x, int64_t from, int64_t first, int64_t end) {
  constexpr int kFlight = 8;
  W total = shape.start;
  const bool plain = shape.reduced.rank <= 1;
  const int64_t step = shape.reduced.stride[0][0];
  for (int64_t r = first; r < end; r += kStep * kFlight) {
    T value[kFlight];
#pragma unroll
    for (int i = 0; i < kFlight; ++i) {
      const int64_t linear = r + i * kStep < end ? r + i * kStep : r;
      int64_t at[1] = {linear * step};
      if (!plain) shape.reduced.offsets(linear, at);
      value[i] = load_element<T>(x, from + at[0], shape.bytes);
    }
    total = with_kind<kKind>(shape, [&](auto op) {
      W sum = total;
#pragma unroll
      for (int i = 0; i < kFlight; ++i)
        if (r + i * kStep < end) sum = op(sum, static_cast<W>(widen(value[i])));
      return sum;
    });
  }
  return total;
}

// The same of a contiguous range in 16-byte accesses, `lane` being one of kStep threads.
template <int kKind, int kStep, class T, class W>
__device__ W accumulate_vectors(const Shape<W>& shape, const void* x, int64_t from, int64_t lane, int64_t first,
                                int64_t end) {
  constexpr int kFlight = 4, kWidth = kVector<T>;
  W total = shape.start;
  const auto* packs = reinterpret_cast<const Pack<T, kWidth>*>(static_cast<const T*>(x) + from);
  const int64_t last = end / kWidth;
  for (int64_t r = first / kWidth + lane; r < last; r += kStep * kFlight) {
    Pack<T, kWidth> value[kFlight];
#pragma unroll
    for (int i = 0; i < kFlight; ++i) value[i] = packs[r + i * kStep < last ? r + i * kStep : r];
    total = with_kind<kKind>(shape, [&](auto op) {
      W sum = total;
#pragma unroll
      for (int i = 0; i < kFlight; ++i) {
        if (r + i * kStep >= last) break;
#pragma unroll
        for (int k = 0; k < kWidth; ++k) sum = op(sum, static_cast<W>(widen(value[i].v[k])));
      }
      return sum;
    });
  }
  return total;
}

// Where a result goes: to y, or, where the range is cut into gridDim.y chunks, to partial (chunks, results).
template <class T, class W>
struct Target {
  void* y;
  W* partial;

  __device__ void put(const Shape<W>& shape, int64_t result, int64_t at, W total) const {
    if (partial != nullptr)
      partial[blockIdx.y * shape.kept.count + result] = total;
    else
      store_element<T>(y, at, shape.bytes, finish(shape, total));
  }
};

// kThreads neighbouring threads make one result; for ranges that are contiguous, or nearly so.
template <int kKind, int kThreads, class T, class W>
__global__ void __launch_bounds__(kBlock)
    row(const __grid_constant__ Shape<W> shape, const void* __restrict__ x, Target<T, W> target) {
  constexpr int kResults = kBlock / kThreads;
  const int64_t result = int64_t{blockIdx.x} * kResults + threadIdx.x / kThreads;
  const bool live = result < shape.kept.count;
  int64_t at[2];
  shape.kept.offsets(live ? result : 0, at);
  const int64_t first = blockIdx.y * shape.chunk, end = min(first + shape.chunk, shape.reduced.count);
  const int lane = threadIdx.x % kThreads;
  W total = shape.vectors ? accumulate_vectors<kKind, kThreads, T>(shape, x, at[1], lane, first, end)
                          : accumulate<kKind, kThreads, T>(shape, x, at[1], first + lane, end);
  total = with_kind<kKind>(shape, [&](auto op) {
    if constexpr (kThreads == kWarp)
      return reduce_lanes<kWarp>(total, op);
    else
      return reduce_block(total, op);
  });
  if (live && threadIdx.x % kThreads == 0) target.put(shape, result, at[0], total);
}

// 32 neighbouring results a block, a lane each; 8 warps share the range and meet in shared memory (2 KiB). For results
// that lie closer together than the values of their ranges.
template <int kKind, class T, class W>
__global__ void __launch_bounds__(kBlock)
    column(const __grid_constant__ Shape<W> shape, const void* __restrict__ x, Target<T, W> target) {
  constexpr int kWarps = kBlock / kWarp;
  __shared__ W partial[kWarps][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t result = int64_t{blockIdx.x} * kWarp + lane;
  const bool live = result < shape.kept.count;
  int64_t at[2];
  shape.kept.offsets(live ? result : 0, at);
  const int64_t first = blockIdx.y * shape.chunk, end = min(first + shape.chunk, shape.reduced.count);
  partial[warp][lane] = accumulate<kKind, kWarps, T>(shape, x, at[1], first + warp, end);
  __syncthreads();
  if (warp != 0 || !live) return;
  const W total = with_kind<kKind>(shape, [&](auto op) {
    W sum = partial[0][lane];
    for (int i = 1; i < kWarps; ++i) sum = op(sum, partial[i][lane]);
    return sum;
  });
  target.put(shape, result, at[0], total);
}

// The chunks of each result, in order: a thread a result.
template <int kKind, class T, class W>
__global__ void __launch_bounds__(kBlock)
    merge(const __grid_constant__ Shape<W> shape, int chunks, const W* __restrict__ partial, void* __restrict__ y) {
  const int64_t result = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (result >= shape.kept.count) return;
  const W total = with_kind<kKind>(shape, [&](auto op) {
    W sum = partial[result];
    for (int c = 1; c < chunks; ++c) sum = op(sum, partial[c * shape.kept.count + result]);
    return sum;
  });
  int64_t at[2];
  shape.kept.offsets(result, at);
  store_element<T>(y, at[0], shape.bytes, finish(shape, total));
}

// How a case is cut: results a block makes, and chunks of the range so that small results still fill the device.
struct Cut {
  bool by_column = false;
  int results_per_block = 1;
  int chunks = 1;
};

template <class Kept, class Reduced>
Cut cut_of(const Kept& kept, const Reduced& reduced) {
  constexpr int64_t kWantedBlocks = 512, kLeastChunk = 2048;
  Cut cut;
  const auto step_of = [](const auto& layout, int operand) {
    return layout.rank == 0 ? int64_t{0} : std::abs(layout.stride[operand][layout.rank - 1]);
  };
  const int64_t kept_step = step_of(kept, 1), reduced_step = step_of(reduced, 0);
  cut.by_column = kept.count > 1 && kept_step != 0 && (reduced_step == 0 || kept_step < reduced_step);
  cut.results_per_block = cut.by_column ? kWarp : reduced.count <= 1024 ? kBlock / kWarp : 1;
  const int64_t blocks = std::max<int64_t>(1, ceil_div(kept.count, cut.results_per_block));
  const int64_t wanted = std::min(kWantedBlocks / blocks, reduced.count / kLeastChunk);
  cut.chunks = static_cast<int>(std::max<int64_t>(1, wanted));
  return cut;
}

struct Layouts {
  Layout<2> kept;
  Layout<1> reduced;
};

Layouts layouts_of(const ops::Reduce& op, const TensorType& x, const TensorType& y) {
  const size_t rank = x.shape.size();
  const AxisStrides of_x = strides_in(x, rank), of_y = strides_in(y, y.shape.size());
  AxisSizes kept{}, reduced{};
  AxisStrides y_strides{};
  for (size_t i = 0, next = 0; i < rank; ++i) {
    const bool is_reduced = std::ranges::find(op.axes, static_cast<int64_t>(i)) != op.axes.end();
    kept[i] = is_reduced ? 1 : x.shape[i];
    reduced[i] = is_reduced ? x.shape[i] : 1;
    if (!is_reduced) y_strides[i] = of_y[next];
    next += !is_reduced || op.keepdims;
  }
  return {make_layout<2>(std::span(kept).first(rank), {y_strides, of_x}),
          make_layout<1>(std::span(reduced).first(rank), {of_x})};
}

template <class T>
Total<T> start(ReduceKind kind) {
  using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, double>>;
  switch (kind) {
    case ReduceKind::kProd: return 1;
    case ReduceKind::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceKind::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return 0;
  }
}

// The ranges and their chunks as 16-byte accesses.
template <class T, class W>
bool reads_vectors(const Shape<W>& shape, const Cut& cut, const void* x) {
  constexpr int64_t kWidth = kVector<T>;
  bool fits = shape.bytes == sizeof(T) && !cut.by_column && shape.reduced.rank == 1 &&
              shape.reduced.stride[0][0] == 1 && shape.reduced.count % kWidth == 0 && is_aligned(x, 16);
  for (int i = 0; i < shape.kept.rank; ++i) fits &= shape.kept.stride[1][i] % kWidth == 0;
  return fits;
}

template <int kKind, class T>
void launch(const ops::Reduce& op, const KernelArgs& args) {
  using W = Total<T>;
  const void* x = args.in[0].data;
  void* y = args.out[0].data;
  const Layouts layouts = layouts_of(op, args.in[0].type, args.out[0].type);
  if (layouts.kept.count == 0) return;
  Shape<W> shape{op.kind, layouts.kept, layouts.reduced};
  shape.start = visit_dtype(args.in[0].type.dtype,
                            [&](auto tag) { return static_cast<W>(start<typename decltype(tag)::type>(op.kind)); });
  shape.bytes = static_cast<int>(size_of(args.in[0].type.dtype));
  const Cut cut = cut_of(shape.kept, shape.reduced);
  shape.vectors = reads_vectors<T>(shape, cut, x);
  shape.chunk = ceil_div(ceil_div(shape.reduced.count, cut.chunks), kVector<T>) * kVector<T>;
  shape.divisor = shape.reduced.count;
  shape.divide = op.kind == ReduceKind::kMean && (!std::is_integral_v<T> || shape.divisor > 0);
  const Target<T, W> target{y, cut.chunks > 1 ? static_cast<W*>(args.scratch) : nullptr};
  dim3 grid = blocks_for(shape.kept.count, cut.results_per_block);
  grid.y = static_cast<unsigned>(cut.chunks);
  const cudaStream_t stream = stream_of(args);
  if (cut.by_column)
    column<kKind, T, W><<<grid, kBlock, 0, stream>>>(shape, x, target);
  else if (cut.results_per_block > 1)
    row<kKind, kWarp, T, W><<<grid, kBlock, 0, stream>>>(shape, x, target);
  else
    row<kKind, kBlock, T, W><<<grid, kBlock, 0, stream>>>(shape, x, target);
  if (cut.chunks > 1)
    merge<kKind, T, W>
        <<<blocks_for(shape.kept.count, kBlock), kBlock, 0, stream>>>(shape, cut.chunks, target.partial, y);
}

template <class T>
void launch_kind(const ops::Reduce& op, const KernelArgs& args) {
  if (op.kind == ReduceKind::kSum || op.kind == ReduceKind::kMean) return launch<kSum, T>(op, args);
  if constexpr (std::is_same_v<Wide<T>, float>)
    if (op.kind == ReduceKind::kMax) return launch<kMax, T>(op, args);
  launch<kAsked, T>(op, args);
}

void chunks(const ops::Reduce& op, const KernelArgs& args) {
  switch (args.in[0].type.dtype) {
    case DType::kF32: return launch_kind<float>(op, args);
    case DType::kF64: return launch_kind<double>(op, args);
    case DType::kF16: return launch_kind<F16>(op, args);
    case DType::kBF16: return launch_kind<BF16>(op, args);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64: return launch_kind<int64_t>(op, args);
    default: return launch_kind<uint64_t>(op, args);
  }
}

size_t scratch_bytes(const ops::Reduce& op, const Case& c) {
  const Layouts layouts = layouts_of(op, *c.in[0].type, *c.out[0].type);
  const Cut cut = cut_of(layouts.kept, layouts.reduced);
  return cut.chunks > 1 ? static_cast<size_t>(cut.chunks * layouts.kept.count) * sizeof(double) : 0;
}

constexpr Kernel kKernels[] = {
    {.name = "chunks",
     .declines = As<ops::Reduce>::fn<rank_over_8<ops::Reduce>>,
     .scratch_bytes = As<ops::Reduce>::fn<scratch_bytes>,
     .run = As<ops::Reduce>::fn<chunks>},
};

}  // namespace

constinit const Kernels reduce_cuda_kernels = kKernels;

}  // namespace plica
