#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/outer_product.h"

namespace plica::cuda {
namespace {

constexpr int kProducts = 1024;  // of one pair in shared memory at a time
constexpr int kPerThread = 4;    // channels of a thread
constexpr int kChannels = kBlock * kPerThread;

template <class T>
struct Operands {
  const T *a, *b, *weight, *bias, *norm, *residual;  // as OuterProduct has them; null where absent
  T* y;
};

// A block makes the channels of one pair, kChannels at a time: kProducts of its products go through shared memory
// (8 KiB in f64), then each thread adds their share to its channels. The grid is one-dimensional over (b, i, j).
template <class T>
__global__ void __launch_bounds__(kBlock) pairs(const __grid_constant__ OuterProduct p, Operands<T> in) {
  using W = Wide<T>;
  __shared__ W products[kProducts];
  const int64_t j = blockIdx.x % p.columns, i = blockIdx.x / p.columns % p.rows;
  const int64_t n = blockIdx.x / p.columns / p.rows;
  const T* a = in.a + n * p.a[0] + i * p.a[2];
  const T* b = in.b + n * p.b[0] + j * p.b[2];
  const int64_t num_products = p.left * p.right;
  W factor = static_cast<W>(p.scale);
  if (in.norm != nullptr) factor /= widen(in.norm[n * p.norm[0] + i * p.norm[1] + j * p.norm[2]]);
  for (int64_t first = 0; first < p.channels; first += kChannels) {
    W sum[kPerThread] = {};
    for (int64_t base = 0; base < num_products; base += kProducts) {
      const int here = static_cast<int>(min(num_products - base, int64_t{kProducts}));
      for (int k = threadIdx.x; k < here; k += kBlock) {
        const int64_t c = (base + k) / p.right, e = (base + k) % p.right;
        W product{};
        for (int64_t s = 0; s < p.depth; ++s)
          product += widen(a[s * p.a[1] + c * p.a[3]]) * widen(b[s * p.b[1] + e * p.b[3]]);
        products[k] = product * factor;
      }
      __syncthreads();
#pragma unroll
      for (int t = 0; t < kPerThread; ++t) {
        const int64_t channel = first + t * kBlock + threadIdx.x;
        if (channel >= p.channels) break;
        const T* weight = in.weight + base * p.weight[0] + channel * p.weight[1];
        for (int k = 0; k < here; ++k) sum[t] += products[k] * widen(weight[k * p.weight[0]]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int t = 0; t < kPerThread; ++t) {
      const int64_t channel = first + t * kBlock + threadIdx.x;
      if (channel >= p.channels) break;
      if (in.bias != nullptr) sum[t] += widen(in.bias[channel * p.bias]);
      if (in.residual != nullptr)
        sum[t] +=
            widen(in.residual[n * p.residual[0] + i * p.residual[1] + j * p.residual[2] + channel * p.residual[3]]);
      in.y[n * p.y[0] + i * p.y[1] + j * p.y[2] + channel * p.y[3]] = narrow<T>(sum[t]);
    }
  }
}

}  // namespace

void run_outer_product_pairs(const ops::OuterProductMean& op, const KernelArgs& args) {
  const OuterProduct p = outer_product_of(op, args);
  if (p.num_pairs() == 0 || p.channels == 0) return;
  visit_float(args.out[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto operand = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
    const Operands<T> in{
        operand(0), operand(1), operand(2), operand(3), operand(4), operand(5), static_cast<T*>(args.out[0].data)};
    pairs<T><<<blocks_for(p.num_pairs(), 1), kBlock, 0, stream_of(args)>>>(p, in);
  });
}

}  // namespace plica::cuda
