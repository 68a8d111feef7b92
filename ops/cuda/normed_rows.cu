#include "ops/cuda/folded_norm.h"
#include "ops/cuda/normed_rows.h"
#include "ops/cuda/product_block.cuh"
#include "ops/cuda/tensor_tile.cuh"
#include "ops/cuda/wgmma_columns.cuh"
#include "ops/cuda/wgmma_turned.cuh"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"

namespace plica::cuda {
namespace {

// y = activation(alpha * (norm(a) @ b) + bias) + residual of bf16, by scale * (a @ b - mean * column_sums).
struct NormedRows {
  CUtensorMap b_map;                   // (k, n)
  BlockProduct product;                // rows: one axis at most
  const float* column_sums = nullptr;  // (n), of b, where the norm has a mean
  float eps = 0;
};

// A block makes 16 rows of 64 columns; all of their k lies in shared memory at once.
struct NormedTile {
  using T = BF16;
  static constexpr int kRows = 16, kColumns = 64, kDepth = 64, kMostStages = 8, kThreads = 256, kVectors = kColumns / 4;
  static constexpr int kABytes = kRows * kDepth * 2, kBBytes = kDepth * kColumns * 2;  // of kDepth of k
  static constexpr int kPitch = kColumns + 4;                                          // of sums, in floats
  static_assert(kRows * kVectors == kThreads && kRows * 8 == kThreads / 2);  // what threads write, and take moments of
  struct Shared {
    float sums[kRows * kPitch];
    float2 moments[kRows];  // mean and scale
    uint64_t weights;       // a barrier
  };
  static constexpr int kHeadBytes = (int{sizeof(Shared)} + 1023) / 1024 * 1024;
  static constexpr int shared_bytes(int stages) { return 1024 + kHeadBytes + stages * (kABytes + kBBytes); }
};

using C = NormedTile;
using T = C::T;

// What a thread writes: four columns of a row.
class RowsFinisher {
 public:
  using Vector = RawPack<T, 4>;

  __device__ RowsFinisher(const NormedRows& p, int row, int column)
      : p_(p.product),
        row_in_tile_(static_cast<int>(threadIdx.x) / C::kVectors),
        in_tile_(static_cast<int>(threadIdx.x) % C::kVectors * 4),
        row_(row + row_in_tile_),
        column_(column + in_tile_),
        is_mine_(row_in_tile_ < C::kRows && row_ < p_.m && column_ < p_.n) {
    if (p_.bias != nullptr && is_mine_)
      bias_ = *reinterpret_cast<const Vector*>(static_cast<const T*>(p_.bias) + column_);
    if (p.column_sums != nullptr && is_mine_) of_columns_ = *reinterpret_cast<const float4*>(p.column_sums + column_);
  }

  // The residual is on its way while the block multiplies.
  __device__ void fetch() {
    if (p_.residual != nullptr && is_mine_)
      residual_ =
          *reinterpret_cast<const Vector*>(static_cast<const T*>(p_.residual) + row_ * p_.rows.stride[2][0] + column_);
  }

  // norms: the products are of rows as they are.
  __device__ void run(const C::Shared& shared, bool norms) const {
    if (!is_mine_) return;
    const float4 sum = *reinterpret_cast<const float4*>(shared.sums + row_in_tile_ * C::kPitch + in_tile_);
    float value[4] = {sum.x, sum.y, sum.z, sum.w};
    float scale = p_.alpha;
    if (norms) {
      const float2 moments = shared.moments[row_in_tile_];
      value[0] -= moments.x * of_columns_.x, value[1] -= moments.x * of_columns_.y;
      value[2] -= moments.x * of_columns_.z, value[3] -= moments.x * of_columns_.w;
      scale *= moments.y;
    }
#pragma unroll
    for (float& v : value) v *= scale;
    take_apart<T, 4>(bias_, [&](int j, float x) { value[j] += x; });
    activate<T>(p_.activation, value);
    take_apart<T, 4>(residual_, [&](int j, float x) { value[j] += x; });
    *reinterpret_cast<Pack<T, 4>*>(static_cast<T*>(p_.y) + row_ * p_.rows.stride[1][0] + column_) =
        put_together<T, 4>(value);
  }

 private:
  const BlockProduct& p_;
  int row_in_tile_, in_tile_, row_, column_;
  bool is_mine_;
  Vector bias_{}, residual_{};
  float4 of_columns_{};
};

// By one thread: the block's part of b, on its way.
__device__ void bring_columns(const NormedRows& p, C::Shared& shared, std::byte* b, int column, int stages) {
  fetch_map(p.b_map);
  init_barrier(&shared.weights, 1);
  fence_barrier_init();
  arrive_expecting(&shared.weights, stages * C::kBBytes);
  for (int i = 0; i < stages; ++i) copy_box(b + i * C::kBBytes, p.b_map, column, i * C::kDepth, &shared.weights);
}

// Writes to shared memory are seen by products that begin behind the next barrier.
__device__ void fence_shared_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A warp brings its rows of a, as `wgmma` takes them; zeros beyond the matrix.
__device__ void bring_rows(const BlockProduct& p, std::byte* a, int row, int stages) {
  constexpr int kEach = C::kRows / (C::kThreads / kWarp);
  const int lane = threadIdx.x % kWarp, first = threadIdx.x / kWarp * kEach;
#pragma unroll
  for (int r = first; r < first + kEach; ++r) {
    const T* from = static_cast<const T*>(p.a) + (row + r) * p.rows.stride[0][0];
    for (int v = lane; v < stages * 8; v += kWarp)
      copy_16_async(a + v / 8 * C::kABytes + r * 128 + ((v % 8) ^ (r % 8)) * 16, from + v * 8,
                    row + r < p.m && v * 8 < p.k);
  }
  commit_copies();
  wait_for_copies<0>();
}

// By a warpgroup: the sums of columns of b (as rows) and rows of a.
__device__ void multiply_turned(C::Shared& shared, const std::byte* a, const std::byte* b, int stages) {
  float d[C::kRows / 2] = {};
  wait_barrier(&shared.weights, 0);
  uint64_t of_a = matrix_in_shared(shared_address(a)), of_b = rows_in_shared(shared_address(b));
#pragma unroll 1
  for (int i = 0; i < stages; ++i, of_a += C::kABytes / 16, of_b += C::kBBytes / 16) {
    pin_registers(d);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kDepth / 16; ++k) multiply_turned_add(d, of_b + k * kSixteenRows, of_a + 2 * k);
    commit_products();
  }
  wait_for_products<0>();
  pin_registers(d);
  const int lane = threadIdx.x % kWarp;
  float* const to = shared.sums + lane % 4 * 2 * C::kPitch + threadIdx.x / kWarp * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < C::kRows / 2; ++j) to[(j / 4 * 8 + j % 2) * C::kPitch + j % 4 / 2 * 8] = d[j];
}

// Means of so many deviations: what is left of sums that cancel has lost too much of its precision.
constexpr float kMostCancelled = 64;

// By the other warpgroup: mean and scale of rows, by eight threads each, from sums of what is left when an element of the row is
// taken off: its distance from the mean is at most sqrt(k) deviations, so that little is cancelled. Whether the sums of products
// of a row would be, from which a multiple of its mean is taken.
__device__ bool take_moments(const NormedRows& p, C::Shared& shared, const std::byte* a, int stages) {
  const int thread = static_cast<int>(threadIdx.x) - 128, row = thread / 8, unit = thread % 8;
  const std::byte* const of_row = a + row * 128;
  const bool has_mean = p.column_sums != nullptr;
  const float pivot = has_mean ? widen(*reinterpret_cast<const T*>(of_row + row % 8 * 16)) : 0.0f;
  float sum = 0, squares = 0;
#pragma unroll 2
  for (int i = 0; i < stages; ++i) {
    if (i * C::kDepth + unit * 8 >= p.product.k) break;
    const auto vector = *reinterpret_cast<const RawPack<T, 8>*>(of_row + i * C::kABytes + (unit ^ (row % 8)) * 16);
    take_apart<T, 8>(vector, [&](int, float x) {
      x -= pivot;
      sum += x;
      squares += x * x;
    });
  }
#pragma unroll
  for (int lanes = 4; lanes > 0; lanes /= 2) {
    sum += __shfl_xor_sync(~0u, sum, lanes);
    squares += __shfl_xor_sync(~0u, squares, lanes);
  }
  const float share = 1.0f / static_cast<float>(p.product.k), rest = has_mean ? sum * share : 0.0f;
  const float mean = has_mean ? rest + pivot : 0.0f;
  const bool is_huge = squares == INFINITY;
  const float scale = is_huge ? 0.0f : 1.0f / sqrtf(larger(squares * share - rest * rest, 0.0f) + p.eps);
  if (unit == 0) shared.moments[row] = {mean, scale};
  return is_huge || fabsf(mean) * scale > kMostCancelled;
}

// The norm itself, in place.
__device__ void normalise_rows(const NormedRows& p, const C::Shared& shared, std::byte* a) {
#pragma unroll 1
  for (int i = threadIdx.x; i < p.product.k / 8 * C::kRows; i += C::kThreads) {
    const int row = i % C::kRows, v = i / C::kRows;
    auto& vector = *reinterpret_cast<RawPack<T, 8>*>(a + v / 8 * C::kABytes + row * 128 + ((v % 8) ^ (row % 8)) * 16);
    const float2 moments = shared.moments[row];
    float value[8];
    take_apart<T, 8>(vector, [&](int j, float x) { value[j] = (x - moments.x) * moments.y; });
    vector = raw_pack(put_together<T, 8>(value));
  }
}

// bf16 by `wgmma`, whose rows are columns of b and whose columns are rows of a. b and the bias, where constant, are on
// their way before earlier kernels are done. One warpgroup multiplies while the other takes moments; a tile with rows whose means are
// far above their deviations is multiplied again, normed. Grid: tiles of columns, tiles of rows. Threads: C::kThreads;
// shared memory: C::shared_bytes. Rows of an operand are one step apart.
__global__ void __launch_bounds__(C::kThreads) normed_rows_kernel(const __grid_constant__ NormedRows p) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ std::byte rows_memory[];
  std::byte* const aligned = rows_memory + (1024 - shared_address(rows_memory) % 1024) % 1024;
  auto& shared = *reinterpret_cast<C::Shared*>(aligned);
  const int stages = p.product.stages, row = blockIdx.y * C::kRows, column = blockIdx.x * C::kColumns;
  std::byte* const b = aligned + C::kHeadBytes;
  std::byte* const a = b + stages * C::kBBytes;
  let_next_begin();
  if (!p.product.constant_b) wait_for_earlier();
  if (threadIdx.x == 0) bring_columns(p, shared, b, column, stages);
  RowsFinisher finisher(p, row, column);
  wait_for_earlier();
  finisher.fetch();
  bring_rows(p.product, a, row, stages);
  fence_shared_writes();
  __syncthreads();
  bool cancels = false;
  if (threadIdx.x < 128)
    multiply_turned(shared, a, b, stages);
  else
    cancels = take_moments(p, shared, a, stages);
  cancels = __syncthreads_or(cancels);
  if (cancels) {
    normalise_rows(p, shared, a);
    fence_shared_writes();
    __syncthreads();
    if (threadIdx.x < 128) multiply_turned(shared, a, b, stages);
    __syncthreads();
  }
  finisher.run(shared, !cancels);
#endif
}

// What it is faster for, by times of an H200.
constexpr int kMostRows = 128, kMostDepth = C::kDepth * C::kMostStages;
constexpr int64_t kMostElements = 1 << 20;  // of the matrix
constexpr int kMostTiles = 264;             // two a multiprocessor

struct State {
  BlockProduct product;
  FoldedNorm norm;
};

std::optional<State> make_state(std::span<const RunStep> steps) {
  if (steps.size() < 2 || steps[0].c.device.compute_capability / 10 != 9) return std::nullopt;
  const std::optional<FoldedNorm> norm = folded_norm(steps[0], steps[1]);
  if (!norm || steps[1].kernel->name != "wgmma") return std::nullopt;  // others are faster beside their norm
  State state{{}, *norm};
  const std::vector<Operand> in = operands_without_norm(steps[0], steps[1]);
  Case c = steps[1].c;
  c.in = in;
  BlockProduct& p = state.product;
  if (make_block_product(*static_cast<const ops::MatMul*>(steps[1].attrs), c, p) != nullptr) return std::nullopt;
  if (p.m > kMostRows || p.k > kMostDepth || int64_t{p.k} * p.n > kMostElements) return std::nullopt;
  if (ceil_div(p.m, C::kRows) * ceil_div(p.n, C::kColumns) > kMostTiles) return std::nullopt;
  if (p.rows.rank > 1) return std::nullopt;
  p.constant_b = !c.has(2) || c.in[2].constant != nullptr;
  p.stages = static_cast<int>(ceil_div(p.k, C::kDepth));
  return state;
}

bool knows(const RunStep& step) {
  return step.op == &layer_norm_op || step.op == &rms_norm_op || step.op == &mat_mul_op;
}

size_t takes(std::span<const RunStep> steps) { return make_state(steps) ? 2 : 0; }

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore& constants) {
  const State state = *make_state(steps);
  RunParts parts{std::make_shared<const State>(state), {}, 0};
  if (!state.norm.has_mean) return parts;
  PLICA_TRY(ConstantPtr sums, column_sums(steps[1].c.in[1].constant, constants));
  parts.constants.push_back(std::move(sums));
  return parts;
}

void run(const RunArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  NormedRows p{{},
               state.product,
               state.norm.has_mean ? static_cast<const float*>(args.constants[0].data) : nullptr,
               state.norm.eps};
  BlockProduct& q = p.product;
  set_operands(args.steps[1], q);
  q.a = args.steps[0].in[0].data;
  p.b_map = map_boxes({q.b, DType::kBF16, q.k, q.n, q.n}, C::kDepth);
  const dim3 grid(static_cast<unsigned>(ceil_div(q.n, C::kColumns)), static_cast<unsigned>(ceil_div(q.m, C::kRows)));
  cudaFuncSetAttribute(normed_rows_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       C::shared_bytes(C::kMostStages));
  launch_early(
      {grid, C::kThreads, static_cast<size_t>(C::shared_bytes(q.stages)), static_cast<cudaStream_t>(args.stream)},
      normed_rows_kernel, p);
}

}  // namespace

constinit const RunKernel normed_rows = {
    .name = "wgmma_rows", .knows = knows, .takes = takes, .prepare = prepare, .run = run};

}  // namespace plica::cuda
