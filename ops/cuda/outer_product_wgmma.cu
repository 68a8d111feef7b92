#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/outer_product.h"
#include "ops/cuda/outer_product_tiles.cuh"
#include "ops/cuda/wgmma.cuh"

namespace plica::cuda {
namespace {

using namespace tiles;

constexpr int kStageBytes = 2 * kATile, kStages = 6, kMostSlabs = 8;
constexpr int kConsumers = 256, kThreads = kConsumers + 128;
constexpr int kConsumerRegisters = 240, kProducerRegisters = 24;
constexpr int kBarrierBytes = 128;

struct Place {
  int64_t n, row_tile, column_tile, channel_tile;
};

__device__ inline Place place_of(const Arranged& to) {
  int64_t block = blockIdx.x;
  Place at{};
  at.column_tile = block % to.column_tiles, block /= to.column_tiles;
  at.row_tile = block % to.row_tiles, block /= to.row_tiles;
  at.channel_tile = block % to.channel_tiles;
  at.n = block / to.channel_tiles;
  return at;
}

struct Barriers {
  uint64_t full[kStages], empty[kStages], b_full, b_empty;
};
static_assert(sizeof(Barriers) <= kBarrierBytes);

// A ring of stages in order of use.
struct Ring {
  int slot = 0;
  uint32_t phase = 0;
  __device__ void next() {
    if (++slot == kStages) slot = 0, phase ^= 1;
  }
};

// One thread fills the ring: for each chunk of slabs b whole, then for each c the slabs of a, and, before the first c of
// a slab of the weight is multiplied, that slab.
template <class T, bool kThree>
__device__ void produce(const OuterProduct& p, const Arranged& to, const Operands& in, int chunk_slabs,
                        std::byte* b_shared, std::byte* stages, Barriers& barriers) {
  using F = Format<T, kThree>;
  const Place at = place_of(to);
  const std::byte* a = in.a_tiles + (at.n * to.row_tiles + at.row_tile) * p.left * to.slabs * kATile;
  const std::byte* b = in.b_tiles + (at.n * to.column_tiles + at.column_tile) * to.slabs * kBTile;
  const auto weight_bytes = static_cast<uint32_t>(to.weight_tile());
  const std::byte* weight = in.weight_tiles + at.channel_tile * to.weight_slabs * to.weight_parts * weight_bytes;
  Ring ring;
  uint32_t b_phase = 0;
  const auto load = [&](const std::byte* from, uint32_t bytes) {
    wait_barrier(&barriers.empty[ring.slot], ring.phase ^ 1);
    arrive_expecting(&barriers.full[ring.slot], bytes);
    copy_bulk(stages + ring.slot * kStageBytes, from, bytes, &barriers.full[ring.slot]);
    ring.next();
  };
  for (int64_t first = 0; first < to.slabs; first += chunk_slabs, b_phase ^= 1) {
    const auto here = static_cast<int>(min(to.slabs - first, int64_t{chunk_slabs}));
    wait_barrier(&barriers.b_empty, b_phase ^ 1);
    arrive_expecting(&barriers.b_full, static_cast<uint32_t>(here * kBTile));
    for (int slab = 0; slab < here; ++slab)
      copy_bulk(b_shared + slab * kBTile, b + (first + slab) * kBTile, kBTile, &barriers.b_full);
    for (int64_t c = 0; c < p.left; ++c) {
      for (int slab = 0; slab < here; slab += 2)
        load(a + (c * to.slabs + first + slab) * kATile, static_cast<uint32_t>(min(here - slab, 2) * kATile));
      if (c % F::kLeftsPerSlab != 0) continue;
      for (int part = 0; part < F::kWeightParts; ++part)
        load(weight + (c / F::kLeftsPerSlab * F::kWeightParts + part) * weight_bytes, weight_bytes);
    }
  }
}

// The first factor of the second product for one step of K, from accumulators of the first: columns first.. of one j.
template <class T>
__device__ void factor_of(const float* sum, uint32_t (&factor)[4]) {
  if constexpr (std::is_same_v<T, float>) {
    factor[0] = __float_as_uint(sum[0]), factor[1] = __float_as_uint(sum[2]);
    factor[2] = __float_as_uint(sum[1]), factor[3] = __float_as_uint(sum[3]);
  } else {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const T low = narrow<T>(sum[2 * r]), high = narrow<T>(sum[2 * r + 1]);
      factor[r] = uint32_t{low.bits} | uint32_t{high.bits} << 16;
    }
  }
}

// What a warpgroup holds: y of two columns j in accumulators of kWidth values a thread.
template <class T, bool kThree, int kChannels>
struct Consumer {
  using F = Format<T, kThree>;
  static constexpr int kWidth = kChannels / 2;
  static constexpr int kSteps = std::is_same_v<T, float> ? 4 : 2;  // of K for the 32 values of e
  const OuterProduct& p;
  const Arranged& to;
  const Operands& in;
  Barriers& barriers;
  uint32_t stages, b_shared;  // addresses in shared memory; b from this warpgroup's columns on
  Place at;
  int64_t row, column;  // this thread's first i (the other is 8 on), the warpgroup's first j
  float scale[2][2];    // [j][row]

  __device__ void find_scales() {
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int64_t i = row + 8 * r;
        scale[j][r] = static_cast<float>(p.scale);
        if (in.norm == nullptr || i >= p.rows || column + j >= p.columns) continue;
        scale[j][r] /=
            widen(static_cast<const T*>(in.norm)[at.n * p.norm[0] + i * p.norm[1] + (column + j) * p.norm[2]]);
      }
  }

  __device__ void release(int slot) {
    if (threadIdx.x % kWarp == 0) arrive(&barriers.empty[slot]);
  }

  __device__ void run(int chunk_slabs, float (&y0)[kWidth], float (&y1)[kWidth]) {
    Ring ring;
    uint32_t b_phase = 0;
    int weight_slot = 0, spent_slot = -1;
    for (int64_t first = 0; first < to.slabs; first += chunk_slabs, b_phase ^= 1) {
      const auto here = static_cast<int>(min(to.slabs - first, int64_t{chunk_slabs}));
      const int stages_a_left = (here + 1) / 2;
      wait_barrier(&barriers.b_full, b_phase);
      for (int64_t c = 0; c < p.left; ++c) {
        float sum[32];
        const int first_slot = ring.slot;
        fence_products();
        for (int slab = 0; slab < here; slab += 2) {
          wait_barrier(&barriers.full[ring.slot], ring.phase);
          const uint32_t stage = stages + ring.slot * kStageBytes;
          for (int half = 0; half < 2 && slab + half < here; ++half) {
            const uint64_t a = matrix_in_shared(stage + half * kATile);
            const uint64_t b = matrix_in_shared(b_shared + (slab + half) * kBTile);
#pragma unroll
            for (int k = 0; k < 4; ++k) multiply_add<T>(sum, a + 2 * k, b + 2 * k, slab + half + k > 0);
          }
          ring.next();
        }
        commit_products();
        wait_for_products<0>();
        pin_registers(sum);
        for (int slot = first_slot; slot != ring.slot; slot = slot + 1 == kStages ? 0 : slot + 1) release(slot);
        if (spent_slot >= 0) release(spent_slot);
        spent_slot = -1;
        const int in_slab = static_cast<int>(c % F::kLeftsPerSlab);
        if (in_slab == 0) {
          weight_slot = ring.slot;
          for (int part = 0; part < F::kWeightParts; ++part) {
            wait_barrier(&barriers.full[ring.slot], ring.phase);
            ring.next();
          }
        }
        project(sum, weight_slot, in_slab, y0, y1);
        if (in_slab + 1 == F::kLeftsPerSlab || c + 1 == p.left) spent_slot = weight_slot;
        if constexpr (kThree) {
          wait_for_products<0>();
          pin_registers(y1);
          release(weight_slot);
          release(weight_slot + 1 == kStages ? 0 : weight_slot + 1);
          spent_slot = -1;
        } else if (spent_slot >= 0 && 2 * stages_a_left >= kStages) {  // the ring needs the slot for the next c
          wait_for_products<0>();
          release(spent_slot);
          spent_slot = -1;
        }
      }
      if (threadIdx.x % kWarp == 0) arrive(&barriers.b_empty);
    }
    wait_for_products<0>();
  }

  // y += products of one c @ its part of the weight: queued.
  __device__ void project(float (&sum)[32], int slot, int in_slab, float (&y0)[kWidth], float (&y1)[kWidth]) {
#pragma unroll
    for (int i = 0; i < 32; ++i) sum[i] *= scale[i / 16][i / 2 % 2];
    const uint64_t weight = matrix_in_shared(stages + slot * kStageBytes) + 2 * kSteps * in_slab;
    if constexpr (kThree) {
      const uint64_t low_weight = matrix_in_shared(stages + (slot + 1 == kStages ? 0 : slot + 1) * kStageBytes);
      project_split(sum, weight, low_weight, y0);
      wait_for_products<0>();
      pin_registers(y0);
      project_split(sum + 16, weight, low_weight, y1);
    } else {
      uint32_t factor[2][kSteps][4];
#pragma unroll
      for (int i = 0; i < 32; ++i)
        if constexpr (std::is_same_v<T, float>) sum[i] = to_tf32(sum[i]);
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int k = 0; k < kSteps; ++k) factor_of<T>(sum + 16 * j + 16 / kSteps * k, factor[j][k]);
      fence_products();
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        multiply_add<T>(y0, factor[0][k], weight + 2 * k, true);
        multiply_add<T>(y1, factor[1][k], weight + 2 * k, true);
      }
      commit_products();
    }
  }

  // For one column j: low sums by high weights, high by low, high by high.
  __device__ void project_split(const float* sum, uint64_t weight, uint64_t low_weight, float (&y)[kWidth]) {
    uint32_t high[kSteps][4], low[kSteps][4];
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      float near[4], rest[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        near[i] = to_tf32(sum[4 * k + i]);
        rest[i] = part_of(sum[4 * k + i], true);
      }
      factor_of<T>(near, high[k]);
      factor_of<T>(rest, low[k]);
    }
    fence_products();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) multiply_add<T>(y, low[k], weight + 2 * k, true);
#pragma unroll
    for (int k = 0; k < kSteps; ++k) multiply_add<T>(y, high[k], low_weight + 2 * k, true);
#pragma unroll
    for (int k = 0; k < kSteps; ++k) multiply_add<T>(y, high[k], weight + 2 * k, true);
    commit_products();
  }

  __device__ void store(const float (&y)[kWidth], int64_t j) {
    if (j >= p.columns) return;
    T* to_y = static_cast<T*>(in.y) + at.n * p.y[0] + j * p.y[2];
    const T* residual = static_cast<const T*>(in.residual);
    if (residual != nullptr) residual += at.n * p.residual[0] + j * p.residual[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t i = row + 8 * r;
      if (i >= p.rows) continue;
#pragma unroll
      for (int eight = 0; eight < kChannels / 8; ++eight) {
        const int64_t c = at.channel_tile * kChannels + eight * 8 + threadIdx.x % 4 * 2;
        if (c >= p.channels) continue;
        Pack<T, 2> pair;
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          float value = y[eight * 4 + r * 2 + q];
          if (in.bias != nullptr) value += widen(static_cast<const T*>(in.bias)[(c + q) * p.bias]);
          if (residual != nullptr) value += widen(residual[i * p.residual[1] + (c + q) * p.residual[3]]);
          pair.v[q] = narrow<T>(value);
        }
        *reinterpret_cast<Pack<T, 2>*>(to_y + i * p.y[1] + c) = pair;
      }
    }
  }
};

// A block makes 64 x 4 pairs. For each c a warpgroup multiplies a (64 rows i) by b (2 x 32 columns (j, e)) over s, and
// the sums, as they stand in its accumulators, by the weight's rows of c. A third one's first thread fills the ring of stages by bulk
// copies. 384 threads; shared memory: b, at most 8 slabs of 16 KiB, 6 stages of 16 KiB, barriers.
template <class T, bool kThree, int kChannels>
__global__ void __launch_bounds__(kThreads, 1)
    outer_product_wgmma(const __grid_constant__ OuterProduct p, const __grid_constant__ Arranged to,
                        const __grid_constant__ Operands in, int chunk_slabs) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte shared[];
  std::byte* b_shared = shared + (1024 - shared_address(shared) % 1024) % 1024;
  std::byte* stages = b_shared + chunk_slabs * kBTile;
  Barriers& barriers = *reinterpret_cast<Barriers*>(stages + kStages * kStageBytes);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) init_barrier(&barriers.full[i], 1), init_barrier(&barriers.empty[i], 8);
    init_barrier(&barriers.b_full, 1), init_barrier(&barriers.b_empty, 8);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    release_registers<kProducerRegisters>();
    if (threadIdx.x == kConsumers) produce<T, kThree>(p, to, in, chunk_slabs, b_shared, stages, barriers);
  } else {
    take_registers<kConsumerRegisters>();
    const int group = threadIdx.x / 128;
    Consumer<T, kThree, kChannels> consumer{
        p,           to, in, barriers, shared_address(stages), shared_address(b_shared) + group * (2 * kRight * kSlab),
        place_of(to)};
    consumer.row = consumer.at.row_tile * kRows + threadIdx.x % 128 / kWarp * 16 + threadIdx.x % kWarp / 4;
    consumer.column = consumer.at.column_tile * kColumns + group * 2;
    consumer.find_scales();
    float y0[kChannels / 2], y1[kChannels / 2];
#pragma unroll
    for (int i = 0; i < kChannels / 2; ++i) y0[i] = y1[i] = 0;
    consumer.run(chunk_slabs, y0, y1);
    pin_registers(y0);
    pin_registers(y1);
    consumer.store(y0, consumer.column);
    consumer.store(y1, consumer.column + 1);
  }
#endif
}

size_t shared_bytes(int chunk_slabs) {
  return static_cast<size_t>(chunk_slabs * kBTile + kStages * kStageBytes + kBarrierBytes + 1024);
}

template <class T, bool kThree, int kChannels>
void launch(const OuterProduct& p, const Arranged& to, const Operands& in, cudaStream_t stream) {
  const int chunk_slabs = static_cast<int>(std::min<int64_t>(std::max<int64_t>(to.slabs, 1), kMostSlabs));
  const auto units = static_cast<int64_t>((to.a_bytes + to.b_bytes + to.weight_bytes) / 16);
  if (units > 0) arrange<T, kThree><<<blocks_for(units, kBlock), kBlock, 0, stream>>>(p, to, in);
  cudaFuncSetAttribute(outer_product_wgmma<T, kThree, kChannels>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shared_bytes(kMostSlabs)));
  const int64_t blocks = p.batch * to.row_tiles * to.column_tiles * to.channel_tiles;
  outer_product_wgmma<T, kThree, kChannels>
      <<<blocks_for(blocks, 1), kThreads, shared_bytes(chunk_slabs), stream>>>(p, to, in, chunk_slabs);
}

// Calls fn(TypeTag<T>{}, std::bool_constant<kThree>{}) with the format of a case or run; tf32x3 is asked for or not.
template <class Fn>
auto visit_format(DType dtype, bool three, Fn&& fn) {
  if (dtype == DType::kBF16) return fn(TypeTag<BF16>{}, std::false_type{});
  if (dtype == DType::kF16) return fn(TypeTag<F16>{}, std::false_type{});
  return three ? fn(TypeTag<float>{}, std::true_type{}) : fn(TypeTag<float>{}, std::false_type{});
}

bool wants_three(const Case& c) { return c.precision == Precision::kTf32x3; }

size_t scratch_of(const Arranged& to) { return to.a_bytes + to.b_bytes + to.weight_bytes + 1024; }

}  // namespace

const char* outer_product_wgmma_declines(const ops::OuterProductMean& op, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  if (dtype == DType::kF64) return "f64";
  if (dtype == DType::kF32 && c.precision != Precision::kTf32 && !wants_three(c)) return "fp32 is strict";
  if (is_small_outer_product(c) && outer_product_fma_declines(op, c) == nullptr)
    return "so few sums take less time in fp32";
  if (c.in[1].type->shape[3] > kRight) return "C2 is over 32";
  if (c.device.shared_memory_bytes < shared_bytes(kMostSlabs)) return "the device has too little shared memory";
  const Operand& y = c.out[0];
  const AxisStrides strides = strides_in(*y.type, 4);
  if (y.type->shape[3] % 2 != 0 || strides[3] != 1 ||
      y.alignment_bytes % (2 * static_cast<int64_t>(size_of(dtype))) != 0)
    return "channels of y are no whole pairs";
  for (size_t i = 0; i < 3; ++i)
    if (strides[i] % 2 != 0) return "channels of y are no whole pairs";
  return nullptr;
}

size_t outer_product_wgmma_scratch(const ops::OuterProductMean&, const Case& c) {
  const Shape &a = c.in[0].type->shape, &b = c.in[1].type->shape, &y = c.out[0].type->shape;
  const OuterProduct p{a[0], a[1], a[2], b[2], a[3], b[3], y[3]};
  return visit_format(y.size() == 4 ? c.out[0].type->dtype : DType::kF32, wants_three(c), [&](auto tag, auto three) {
    return scratch_of(arranged<typename decltype(tag)::type, decltype(three)::value>(p));
  });
}

Result<KernelState> outer_product_wgmma_prepare(const ops::OuterProductMean&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const bool>(wants_three(c)));
}

void run_outer_product_wgmma(const ops::OuterProductMean& op, const KernelArgs& args) {
  const OuterProduct p = outer_product_of(op, args);
  if (p.num_pairs() == 0 || p.channels == 0) return;
  auto* scratch = static_cast<std::byte*>(args.scratch);
  scratch += (1024 - reinterpret_cast<uintptr_t>(scratch) % 1024) % 1024;
  const auto operand = [&](size_t i) { return args.has(i) ? args.in[i].data : nullptr; };
  visit_format(args.out[0].type.dtype, *static_cast<const bool*>(args.state), [&](auto tag, auto three) {
    using T = typename decltype(tag)::type;
    constexpr bool kThree = decltype(three)::value;
    const Arranged to = arranged<T, kThree>(p);
    const Operands in{
        operand(0), operand(1),       operand(2), operand(3),           operand(4),
        operand(5), args.out[0].data, scratch,    scratch + to.a_bytes, scratch + to.a_bytes + to.b_bytes};
    if (to.channels == 128)
      launch<T, kThree, 128>(p, to, in, stream_of(args));
    else
      launch<T, kThree, 64>(p, to, in, stream_of(args));
  });
}

}  // namespace plica::cuda
