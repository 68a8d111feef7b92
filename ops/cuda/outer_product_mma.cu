#include "ops/cuda/async_copy.cuh"
#include "ops/cuda/attention_mma_modes.cuh"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/matrix_fragments.cuh"
#include "ops/cuda/outer_product.h"
#include "ops/cuda/raw_pack.cuh"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

constexpr int kPairs = 16, kChannels = 64;  // of y, a block: one i, kPairs neighbouring j
constexpr int kWarps = kBlock / kWarp, kMostLefts = 32 / kWarps;
constexpr int kWeightPitch = kChannels + 8, kSumPitch = kChannels + 4;

// A warp's part of the depth: num_lefts values of c, each with kRight of e.
template <class T, int kRight>
struct Small {
  const OuterProduct& p;
  const T *a, *b, *weight;
  int64_t n, i, j, channel;  // the block's first
  int first_left, num_lefts;

  static constexpr int kSteps = kRight / 16;  // of 16 along e
  static constexpr size_t kSharedBytes = sizeof(T) * kWarps * kMostLefts * kRight * kWeightPitch;

  // The rows of the weight that the warp multiplies by: (num_lefts * kRight, kChannels).
  __device__ void bring_weight(T* to) const {
    constexpr int kVectors = kChannels / 8;
    const int lane = threadIdx.x % kWarp;
    const bool inside = channel + lane % kVectors * 8 < p.channels;
    const T* from = weight + first_left * kRight * p.weight[0] + (inside ? channel + lane % kVectors * 8 : 0);
#pragma unroll 8
    for (int row = lane / kVectors; row < num_lefts * kRight; row += kWarp / kVectors)
      copy_16_async(to + row * kWeightPitch + lane % kVectors * 8, from + row * p.weight[0], inside);
    commit_copies();
  }

  // sum[c][step] are the products of this lane's pairs, as a product's left operand (16, 16) stands in registers.
  __device__ void multiply(float (&sum)[kMostLefts][kSteps][8]) const {
    const int lane = threadIdx.x % kWarp, row = lane / 4, column = lane % 4 * 2;
    const T* left = a + n * p.a[0] + i * p.a[2] + first_left;
    const T* right[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) right[h] = b + n * p.b[0] + min(j + row + 8 * h, p.columns - 1) * p.b[2] + column;
#pragma unroll 4
    for (int64_t s = 0; s < p.depth; ++s) {
      float x[kMostLefts];
#pragma unroll
      for (int c = 0; c < kMostLefts; ++c) x[c] = c < num_lefts ? widen(left[s * p.a[1] + c]) : 0.0f;
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int part = 0; part < 4; ++part) {  // rows 8 apart, then columns 8 apart
          const auto bits = *reinterpret_cast<const uint32_t*>(right[part % 2] + s * p.b[1] + step * 16 + part / 2 * 8);
          const float2 y = widen_pair<T>(bits);
#pragma unroll
          for (int c = 0; c < kMostLefts; ++c) {
            sum[c][step][2 * part] = fmaf(x[c], y.x, sum[c][step][2 * part]);
            sum[c][step][2 * part + 1] = fmaf(x[c], y.y, sum[c][step][2 * part + 1]);
          }
        }
    }
  }

  // y (kPairs, kChannels), eight channels after eight, of the warp's depth. Means, by the factors of the lane's two pairs, are rounded to
  // T: sums may be beyond it.
  __device__ void project(const float (&sum)[kMostLefts][kSteps][8], const float (&factor)[2], const T* rows,
                          float (&y)[kChannels / 8][4]) const {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int c = 0; c < kMostLefts; ++c) {
      if (c >= num_lefts) return;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        uint32_t left[4];
#pragma unroll
        for (int part = 0; part < 4; ++part)
          left[part] =
              narrow_pair<T>(sum[c][step][2 * part] * factor[part % 2], sum[c][step][2 * part + 1] * factor[part % 2]);
        const T* from = rows + (c * kRight + step * 16 + lane % 16) * kWeightPitch + lane / 16 * 8;
#pragma unroll
        for (int eight = 0; eight < kChannels / 8; eight += 2) {
          uint32_t right[4];
          load_matrices<true>(right, shared_address(from + eight * 8));
          attention::multiply(T{}, y[eight], left, right[0], right[1], y[eight]);
          attention::multiply(T{}, y[eight + 1], left, right[2], right[3], y[eight + 1]);
        }
      }
    }
  }
};

// T: what all operands are.
template <class T>
struct SmallOperands {
  const T *a, *b, *weight, *bias, *norm, *residual;
  T* y;
  bool constant_weight;  // it may be read before earlier kernels are done
};

// What a lane's two pairs are multiplied by, 8 columns apart.
template <class T>
__device__ void read_factors(const OuterProduct& p, const SmallOperands<T>& in, int64_t n, int64_t i, int64_t j,
                             float (&factor)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int64_t column = min(j + threadIdx.x % kWarp / 4 + 8 * h, p.columns - 1);
    factor[h] = static_cast<float>(p.scale);
    if (in.norm != nullptr) factor[h] /= widen(in.norm[n * p.norm[0] + i * p.norm[1] + column * p.norm[2]]);
  }
}

// Four channels of a pair.
template <class T>
__device__ void finish_quad(const OuterProduct& p, const SmallOperands<T>& in, int64_t n, int64_t i, int64_t j,
                            int64_t c, float4 sum) {
  float value[4] = {sum.x, sum.y, sum.z, sum.w};
  const int64_t residual = n * p.residual[0] + i * p.residual[1] + j * p.residual[2] + c * p.residual[3];
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    if (in.bias != nullptr) value[q] += widen(in.bias[(c + q) * p.bias]);
    if (in.residual != nullptr) value[q] += widen(in.residual[residual + q * p.residual[3]]);
  }
  *reinterpret_cast<Pack<T, 4>*>(in.y + n * p.y[0] + i * p.y[1] + j * p.y[2] + c) = put_together<T, 4>(value);
}

// A warp makes the products of its values of c in registers, in fp32, and multiplies them there by its rows of the weight; the warps'
// parts are added up in shared memory. Grid: pairs, tiles of channels. Threads: kBlock.
template <class T, int kRight>
__global__ void __launch_bounds__(kBlock, 1)
    outer_product_mma(const __grid_constant__ OuterProduct p, const __grid_constant__ SmallOperands<T> in) {
  extern __shared__ __align__(16) std::byte outer_memory[];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, lefts = static_cast<int>(p.left) / kWarps;
  const int64_t across = ceil_div(p.columns, kPairs);
  const Small<T, kRight> small{p,
                               in.a,
                               in.b,
                               in.weight,
                               blockIdx.x / across / p.rows,
                               blockIdx.x / across % p.rows,
                               blockIdx.x % across * kPairs,
                               int64_t{blockIdx.y} * kChannels,
                               warp * lefts,
                               lefts};
  T* rows = reinterpret_cast<T*>(outer_memory) + warp * kMostLefts * kRight * kWeightPitch;
  if (!in.constant_weight) wait_for_earlier();
  small.bring_weight(rows);
  wait_for_earlier();
  float sum[kMostLefts][kRight / 16][8] = {}, y[kChannels / 8][4] = {};
  float factor[2];
  read_factors(p, in, small.n, small.i, small.j, factor);
  small.multiply(sum);
  let_next_begin();
  wait_for_copies<0>();
  __syncwarp();
  small.project(sum, factor, rows, y);
  __syncthreads();  // the weight has been read
  auto* parts = reinterpret_cast<float*>(outer_memory);
#pragma unroll
  for (int eight = 0; eight < kChannels / 8; ++eight)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<float2*>(parts + (warp * kPairs + lane / 4 + 8 * h) * kSumPitch + eight * 8 + lane % 4 * 2) = {
          y[eight][2 * h], y[eight][2 * h + 1]};
  __syncthreads();
  const int pair = threadIdx.x / (kChannels / 4), quad = threadIdx.x % (kChannels / 4) * 4;
  static_assert(kPairs * kChannels / 4 == kBlock);
  if (small.j + pair >= p.columns || small.channel + quad >= p.channels) return;
  float4 total{};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const float4 part = *reinterpret_cast<const float4*>(parts + (w * kPairs + pair) * kSumPitch + quad);
    total.x += part.x, total.y += part.y, total.z += part.z, total.w += part.w;
  }
  finish_quad(p, in, small.n, small.i, small.j + pair, small.channel + quad, total);
}

template <class T, int kRight>
void launch(const OuterProduct& p, const SmallOperands<T>& in, cudaStream_t stream) {
  using S = Small<T, kRight>;
  static_assert(S::kSharedBytes >= sizeof(float) * kWarps * kPairs * kSumPitch);
  const dim3 grid(static_cast<unsigned>(p.batch * p.rows * ceil_div(p.columns, kPairs)),
                  static_cast<unsigned>(ceil_div(p.channels, kChannels)));
  cudaFuncSetAttribute(outer_product_mma<T, kRight>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes);
  launch_early({grid, kBlock, S::kSharedBytes, stream}, outer_product_mma<T, kRight>, p, in);
}

template <class T>
void run(const OuterProduct& p, const KernelArgs& args) {
  const auto operand = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
  const bool constant_weight = args.state != nullptr && *static_cast<const bool*>(args.state);
  const SmallOperands<T> in{
      operand(0),     operand(1), operand(2), operand(3), operand(4), operand(5), static_cast<T*>(args.out[0].data),
      constant_weight};
  p.right == 16 ? launch<T, 16>(p, in, stream_of(args)) : launch<T, 32>(p, in, stream_of(args));
}

}  // namespace

const char* outer_product_mma_declines(const ops::OuterProductMean&, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "elements of other than 16 bits";
  if (c.device.compute_capability < 80) return "the device is not of compute capability 8.0";
  if (!is_small_outer_product(c)) return "so many sums take less time by tiles of more pairs";
  const int64_t left = c.in[0].type->shape[3], right = c.in[1].type->shape[3];
  if (left % kWarps != 0 || left > 32) return "C1 is not 8, 16, 24 or 32";
  if (right != 16 && right != 32) return "C2 is not 16 or 32";
  if (c.device.shared_memory_bytes < Small<BF16, 32>::kSharedBytes) return "the device has too little shared memory";
  return outer_product_vectors_decline(c);
}

Result<KernelState> outer_product_mma_prepare(const ops::OuterProductMean&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const bool>(c.in[2].constant != nullptr));
}

void run_outer_product_mma(const ops::OuterProductMean& op, const KernelArgs& args) {
  const OuterProduct p = outer_product_of(op, args);
  if (p.num_pairs() == 0 || p.channels == 0) return;
  args.out[0].type.dtype == DType::kF16 ? run<F16>(p, args) : run<BF16>(p, args);
}

}  // namespace plica::cuda
