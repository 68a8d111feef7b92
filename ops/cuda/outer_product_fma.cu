#include "ops/cuda/async_copy.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/outer_product.h"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

// What a block makes: kRows x kColumns pairs (i, j), kChannels of each. Products are made for kLeft values of c at a time.
template <int kRows_, int kChannels_>
struct Tile {
  static constexpr int kRows = kRows_, kColumns = 4, kChannels = kChannels_;
  static constexpr int kLeft = 128 / kRows, kRight = 32;  // kRight values of e, zeros behind C2
  static constexpr int kPairs = kRows * kColumns, kDepth = kLeft * kRight;
  static constexpr int kLaneRows = kPairs >= 32 ? 4 : 2, kLaneColumns = kWarp / kLaneRows;
  static constexpr int kQuads = kChannels / (kLaneColumns * 4) > 1 ? 2 : 1;  // of channels that a thread sums
  static constexpr int kWarpPairs = kLaneRows * 8, kWarpChannels = kLaneColumns * 4 * kQuads;
  // A stage is kSequences rows s of a and b, or the weight's rows of kStageLefts values of c. Few pairs make short stages.
  static constexpr int kSequences = kPairs >= 64 ? 32 : 8, kStageFloats = 8192;
  static constexpr int kStageDepth = kStageFloats / kChannels, kStageLefts = kStageDepth / kRight;
  static constexpr int kWarpTiles = kPairs / kWarpPairs * (kChannels / kWarpChannels);
  static constexpr int kSplit = kBlock / kWarp / kWarpTiles;  // warps that share the depth of one tile of y
};

constexpr int kStages = 3;
constexpr int kSide = 128;  // rows (i, c) and columns (j, e) of a block's products

template <class Tile>
constexpr size_t kSharedBytes = sizeof(float) * (kStages * Tile::kStageFloats + Tile::kPairs * Tile::kDepth);

// T: what all but the factors are.
template <class T>
struct Operands {
  const float *a, *b, *weight;
  const T *bias, *norm, *residual;
  T* y;
};

// The block's place and the loads of its stages.
template <class T, class Tile>
struct Loader {
  const OuterProduct& p;
  const Operands<T>& in;
  int64_t n, i, j, channel;  // the block's first
  // This thread's four neighbouring values of a (but for the chunk's first c) and of b at s = 0.
  const float *a = nullptr, *b = nullptr;
  int left = 0;  // its first c in a chunk
  bool a_inside = false, b_inside = false;

  __device__ void find_columns() {
    const int quad = threadIdx.x % kWarp * 4;
    const int64_t row = i + quad / Tile::kLeft, column = j + quad / Tile::kRight, e = quad % Tile::kRight;
    left = quad % Tile::kLeft;
    a_inside = row < p.rows;
    b_inside = column < p.columns && e < p.right;
    a = in.a + (a_inside ? n * p.a[0] + row * p.a[2] + left : 0);
    b = in.b + (b_inside ? n * p.b[0] + column * p.b[2] + e : 0);
  }

  __device__ void load(int64_t chunk, int stage_of_chunk, int num_product_stages, float* to) const {
    if (stage_of_chunk < num_product_stages)
      load_products(chunk * Tile::kLeft, stage_of_chunk * Tile::kSequences, to);
    else
      load_weight(chunk * Tile::kLeft + (stage_of_chunk - num_product_stages) * Tile::kStageLefts, to);
  }

  // to: (kSequences, kSide) of a, then of b.
  __device__ void load_products(int64_t c, int s, float* to) const {
    constexpr int kLines = kBlock / kWarp;
    const int line = threadIdx.x / kWarp;
    const bool in_a = a_inside && c + left < p.left;
    to += line * kSide + threadIdx.x % kWarp * 4;
#pragma unroll
    for (int l = 0; l < Tile::kSequences; l += kLines) {
      const bool deep = s + line + l < p.depth;
      const int64_t at = s + line + l;
      copy_16_async(to + l * kSide, in_a && deep ? a + c + at * p.a[1] : in.a, in_a && deep);
      copy_16_async(to + (Tile::kSequences + l) * kSide, b_inside && deep ? b + at * p.b[1] : in.b, b_inside && deep);
    }
  }

  // to: (kStageDepth, kChannels).
  __device__ void load_weight(int64_t c, float* to) const {
    constexpr int kQuads = Tile::kChannels / 4;
    const int quad = threadIdx.x % kQuads;
    const bool wide = channel + quad * 4 < p.channels;
#pragma unroll
    for (int d = threadIdx.x / kQuads; d < Tile::kStageDepth; d += kBlock / kQuads) {
      const int64_t e = d % Tile::kRight, left = c + d / Tile::kRight;
      const bool inside = wide && e < p.right && left < p.left;
      const float* from = in.weight + (inside ? (left * p.right + e) * p.weight[0] + channel + quad * 4 : 0);
      copy_16_async(to + d * Tile::kChannels + quad * 4, from, inside);
    }
  }
};

// sum (8, 8) += products of one stage: rows (i, c) 8 neighbours, columns (j, e) two times 4, kSide / 4 apart.
template <class Tile>
__device__ void multiply_stage(const float* stage, int row, int column, float (&sum)[8][8]) {
#pragma unroll
  for (int s = 0; s < Tile::kSequences; ++s) {
    const float* a = stage + s * kSide + row;
    const float* b = stage + (Tile::kSequences + s) * kSide + column;
    float left[8], right[8];
    *reinterpret_cast<float4*>(left) = *reinterpret_cast<const float4*>(a);
    *reinterpret_cast<float4*>(left + 4) = *reinterpret_cast<const float4*>(a + 4);
    *reinterpret_cast<float4*>(right) = *reinterpret_cast<const float4*>(b);
    *reinterpret_cast<float4*>(right + 4) = *reinterpret_cast<const float4*>(b + kSide / 4);
#pragma unroll
    for (int r = 0; r < 8; ++r)
#pragma unroll
      for (int q = 0; q < 8; ++q) sum[r][q] = fmaf(left[r], right[q], sum[r][q]);
  }
}

// Where four products of a pair from k on stand: units of four are swizzled, so that pairs read side by side lie in
// different banks.
template <class Tile>
__device__ int product_at(int pair, int k) {
  return pair * Tile::kDepth + (k / 4 ^ pair % 8) * 4;
}

// y (8 pairs kLaneRows apart, quads of channels 4 kLaneColumns apart) += products (kPairs, kDepth) from k on @ weight of a stage (kStageDepth, kChannels).
template <class Tile>
__device__ void project_stage(const float* products, const float* weight, int pair, int k,
                              float (&y)[8][4 * Tile::kQuads]) {
  constexpr int kShare = Tile::kStageDepth / Tile::kSplit;
  const int lane_row = pair % Tile::kLaneRows;
#pragma unroll
  for (int d = 0; d < kShare; d += 4) {
    float w[4][4 * Tile::kQuads];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int q = 0; q < Tile::kQuads; ++q)
        *reinterpret_cast<float4*>(w[i] + 4 * q) =
            *reinterpret_cast<const float4*>(weight + (d + i) * Tile::kChannels + q * Tile::kLaneColumns * 4);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int swizzle = lane_row ^ (r * Tile::kLaneRows % 8);  // (pair + r kLaneRows) % 8
      float x[4];
      *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(
          products + (pair + r * Tile::kLaneRows) * Tile::kDepth + ((k + d) / 4 ^ swizzle) * 4);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int q = 0; q < 4 * Tile::kQuads; ++q) y[r][q] = fmaf(x[i], w[i][q], y[r][q]);
    }
  }
}

template <class T, class Tile>
__device__ void store_quad(const OuterProduct& p, const Operands<T>& in, const Loader<T, Tile>& at, int pair,
                           int channel, float4 sum) {
  const int64_t i = at.i + pair / Tile::kColumns, j = at.j + pair % Tile::kColumns, n = at.n;
  const int64_t c = at.channel + channel;
  if (i >= p.rows || j >= p.columns || c >= p.channels) return;
  float factor = static_cast<float>(p.scale);
  if (in.norm != nullptr) factor /= widen(in.norm[n * p.norm[0] + i * p.norm[1] + j * p.norm[2]]);
  float value[4] = {sum.x * factor, sum.y * factor, sum.z * factor, sum.w * factor};
  const T* residual = in.residual == nullptr
                          ? nullptr
                          : in.residual + n * p.residual[0] + i * p.residual[1] + j * p.residual[2] + c * p.residual[3];
  Pack<T, 4> quad;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    if (in.bias != nullptr) value[q] += widen(in.bias[(c + q) * p.bias]);
    if (residual != nullptr) value[q] += widen(residual[q * p.residual[3]]);
    quad.v[q] = narrow<T>(value[q]);
  }
  *reinterpret_cast<Pack<T, 4>*>(in.y + n * p.y[0] + i * p.y[1] + j * p.y[2] + c) = quad;
}

// A block makes the products of kSide rows (i, c) and kSide columns (j, e), summed over s in registers, lays them out by
// pair in shared memory and multiplies them by the weight; then the next kLeft values of c. 256 threads, 160 KiB of
// shared memory. Rows of a, b, weight and y are whole 16-byte vectors.
template <class T, class Tile>
__global__ void __launch_bounds__(kBlock, 1)
    outer_product_fma(const __grid_constant__ OuterProduct p, const __grid_constant__ Operands<T> in) {
  extern __shared__ float4 shared_vectors[];
  float* stages = reinterpret_cast<float*>(shared_vectors);
  float* products = stages + kStages * Tile::kStageFloats;  // (kPairs, kDepth)
  int64_t block = blockIdx.x;
  const int64_t across = ceil_div(p.columns, Tile::kColumns), down = ceil_div(p.rows, Tile::kRows);
  Loader<T, Tile> loader{p, in};
  loader.j = block % across * Tile::kColumns, block /= across;
  loader.i = block % down * Tile::kRows, block /= down;
  const int64_t wide = ceil_div(p.channels, Tile::kChannels);
  loader.channel = block % wide * Tile::kChannels;
  loader.n = block / wide;
  loader.find_columns();

  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int row = (warp / 2 * 4 + lane / 8) * 8, column = warp % 2 * 64 + lane % 8 * 4;
  const int tile = warp / Tile::kSplit, part = warp % Tile::kSplit;
  constexpr int kTilesAcross = Tile::kChannels / Tile::kWarpChannels;
  const int pair = tile / kTilesAcross * Tile::kWarpPairs + lane / Tile::kLaneColumns;
  const int channel = tile % kTilesAcross * Tile::kWarpChannels + lane % Tile::kLaneColumns * 4;
  const int first_depth = part * (Tile::kStageDepth / Tile::kSplit);

  const int num_product_stages = static_cast<int>(ceil_div(p.depth, Tile::kSequences));
  const int stages_a_chunk = num_product_stages + Tile::kLeft / Tile::kStageLefts;
  const int64_t num_chunks = ceil_div(p.left, Tile::kLeft);
  int64_t next_chunk = 0;
  int next_stage = 0, next_slot = 0;
  const auto load_next = [&] {
    if (next_chunk < num_chunks)
      loader.load(next_chunk, next_stage, num_product_stages, stages + next_slot * Tile::kStageFloats);
    commit_copies();
    next_slot = next_slot + 1 == kStages ? 0 : next_slot + 1;
    if (++next_stage == stages_a_chunk) next_stage = 0, ++next_chunk;
  };
  for (int s = 0; s + 1 < kStages; ++s) load_next();

  float y[8][4 * Tile::kQuads] = {};
  int slot = 0;
  const auto next = [&]() -> const float* {  // the oldest stage, arrived for all threads
    wait_for_copies<kStages - 2>();
    __syncthreads();
    load_next();
    const float* stage = stages + slot * Tile::kStageFloats;
    slot = slot + 1 == kStages ? 0 : slot + 1;
    return stage;
  };
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    float sum[8][8] = {};
    for (int s = 0; s < num_product_stages; ++s) multiply_stage<Tile>(next(), row, column, sum);
    if (num_product_stages == 0) __syncthreads();
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const int i = (row + r) / Tile::kLeft, c = (row + r) % Tile::kLeft;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int j = column / Tile::kRight + half, e = column % Tile::kRight;
        *reinterpret_cast<float4*>(products + product_at<Tile>(i * Tile::kColumns + j, c * Tile::kRight + e)) =
            make_float4(sum[r][4 * half], sum[r][4 * half + 1], sum[r][4 * half + 2], sum[r][4 * half + 3]);
      }
    }
    for (int c = 0; c < Tile::kLeft; c += Tile::kStageLefts) {
      const float* weight = next();
      project_stage<Tile>(products, weight + first_depth * Tile::kChannels + channel, pair,
                          c * Tile::kRight + first_depth, y);
    }
  }
  static_assert(Tile::kSplit > 1);  // the warps that share a tile add up through shared memory
  __syncthreads();
  constexpr int kSums = Tile::kPairs * Tile::kChannels;
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int q = 0; q < Tile::kQuads; ++q)
      *reinterpret_cast<float4*>(products + part * kSums + (pair + r * Tile::kLaneRows) * Tile::kChannels + channel +
                                 q * Tile::kLaneColumns * 4) =
          make_float4(y[r][4 * q], y[r][4 * q + 1], y[r][4 * q + 2], y[r][4 * q + 3]);
  __syncthreads();
  for (int at = threadIdx.x * 4; at < kSums; at += kBlock * 4) {
    float4 sum = *reinterpret_cast<const float4*>(products + at);
#pragma unroll
    for (int k = 1; k < Tile::kSplit; ++k) {
      const float4 more = *reinterpret_cast<const float4*>(products + k * kSums + at);
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    store_quad<T, Tile>(p, in, loader, at / Tile::kChannels, at % Tile::kChannels, sum);
  }
}

template <class Tile>
int64_t num_blocks(const OuterProduct& p) {
  return p.batch * ceil_div(p.rows, Tile::kRows) * ceil_div(p.columns, Tile::kColumns) *
         ceil_div(p.channels, Tile::kChannels);
}

template <class T, class Tile>
void launch(const OuterProduct& p, const Operands<T>& in, cudaStream_t stream) {
  static_assert(Tile::kSplit * Tile::kPairs * Tile::kChannels <= Tile::kPairs * Tile::kDepth);
  cudaFuncSetAttribute(outer_product_fma<T, Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes<Tile>);
  outer_product_fma<T, Tile><<<blocks_for(num_blocks<Tile>(p), 1), kBlock, kSharedBytes<Tile>, stream>>>(p, in);
}

// Wide tiles where they fill the device's multiprocessors.
template <int kChannels>
void launch_widest(const OuterProduct& p, const Operands<float>& in, cudaStream_t stream) {
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (num_blocks<Tile<16, kChannels>>(p) >= processors)
    launch<float, Tile<16, kChannels>>(p, in, stream);
  else
    launch<float, Tile<4, kChannels>>(p, in, stream);
}

template <class T>
Operands<T> operands_of(const KernelArgs& args) {
  const auto factor = [&](size_t i) { return static_cast<const float*>(args.in[i].data); };
  const auto other = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
  return {factor(0), factor(1), factor(2), other(3), other(4), other(5), static_cast<T*>(args.out[0].data)};
}

// The factors in 16 bits, and where they stand in fp32, dense: a, then b, then weight.
struct Factors {
  const void *a, *b, *weight;
  float* wide;
  int64_t a_elements, b_elements, weight_elements;

  int64_t elements() const { return a_elements + b_elements + weight_elements; }
};

// A thread widens eight neighbouring elements.
template <class T>
__global__ void __launch_bounds__(kBlock) widen_factors(const __grid_constant__ OuterProduct p, Factors factors) {
  const int64_t first = (int64_t{blockIdx.x} * kBlock + threadIdx.x) * 8;
  int64_t at = first;
  const void* from = factors.a;
  if (at < factors.a_elements) {
    const int64_t c = at % p.left, n = at / p.left % p.rows, s = at / p.left / p.rows % p.depth;
    at = at / p.left / p.rows / p.depth * p.a[0] + s * p.a[1] + n * p.a[2] + c;
  } else if ((at -= factors.a_elements) < factors.b_elements) {
    const int64_t c = at % p.right, n = at / p.right % p.columns, s = at / p.right / p.columns % p.depth;
    at = at / p.right / p.columns / p.depth * p.b[0] + s * p.b[1] + n * p.b[2] + c;
    from = factors.b;
  } else if ((at -= factors.b_elements) < factors.weight_elements) {
    at = at / p.channels * p.weight[0] + at % p.channels;
    from = factors.weight;
  } else {
    return;
  }
  const auto values = *reinterpret_cast<const Pack<T, 8>*>(static_cast<const T*>(from) + at);
#pragma unroll
  for (int k = 0; k < 8; k += 4)
    *reinterpret_cast<float4*>(factors.wide + first + k) =
        make_float4(widen(values.v[k]), widen(values.v[k + 1]), widen(values.v[k + 2]), widen(values.v[k + 3]));
}

Factors factors_of(const OuterProduct& p) {
  return {nullptr,
          nullptr,
          nullptr,
          nullptr,
          p.batch * p.depth * p.rows * p.left,
          p.batch * p.depth * p.columns * p.right,
          p.left * p.right * p.channels};
}

// 16 bits: the same sums in fp32, over factors that are widened first.
template <class T>
void run_widened(OuterProduct p, const KernelArgs& args) {
  Factors factors = factors_of(p);
  factors.a = args.in[0].data, factors.b = args.in[1].data, factors.weight = args.in[2].data;
  factors.wide = static_cast<float*>(args.scratch);
  widen_factors<T><<<blocks_for(factors.elements(), kBlock * 8), kBlock, 0, stream_of(args)>>>(p, factors);
  Operands<T> in = operands_of<T>(args);
  in.a = factors.wide;
  in.b = in.a + factors.a_elements;
  in.weight = in.b + factors.b_elements;
  p.a[2] = p.left, p.a[1] = p.rows * p.left, p.a[0] = p.depth * p.a[1];
  p.b[2] = p.right, p.b[1] = p.columns * p.right, p.b[0] = p.depth * p.b[1];
  p.weight[0] = p.channels;
  if (p.channels > 64)
    launch<T, Tile<4, 128>>(p, in, stream_of(args));
  else
    launch<T, Tile<4, 64>>(p, in, stream_of(args));
}

}  // namespace

const char* outer_product_fma_declines(const ops::OuterProductMean&, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (dtype == DType::kF64) return "f64";
  if (dtype != DType::kF32 && !is_small_outer_product(c)) return "so many sums take less time by matrix units";
  if (c.in[1].type->shape[3] > Tile<16, 128>::kRight) return "C2 is over 32";
  if (c.device.shared_memory_bytes < kSharedBytes<Tile<4, 128>>) return "the device has too little shared memory";
  return outer_product_vectors_decline(c);
}

size_t outer_product_fma_scratch(const ops::OuterProductMean&, const Case& c) {
  if (c.out[0].type->dtype == DType::kF32) return 0;
  const Shape &a = c.in[0].type->shape, &b = c.in[1].type->shape, &y = c.out[0].type->shape;
  return static_cast<size_t>(factors_of({a[0], a[1], a[2], b[2], a[3], b[3], y[3]}).elements()) * sizeof(float);
}

void run_outer_product_fma(const ops::OuterProductMean& op, const KernelArgs& args) {
  const OuterProduct p = outer_product_of(op, args);
  if (p.num_pairs() == 0 || p.channels == 0) return;
  const DType dtype = args.out[0].type.dtype;
  if (dtype == DType::kBF16) return run_widened<BF16>(p, args);
  if (dtype == DType::kF16) return run_widened<F16>(p, args);
  if (p.channels > 64)
    launch_widest<128>(p, operands_of<float>(args), stream_of(args));
  else
    launch_widest<64>(p, operands_of<float>(args), stream_of(args));
}

}  // namespace plica::cuda
