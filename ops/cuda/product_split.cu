#include <algorithm>

#include "ops/cuda/product.h"
#include "ops/cuda/product_parts.h"
#include "ops/cuda/product_split.cuh"
#include "ops/cuda/product_split.h"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {
namespace {

using split::SplitProduct;

struct State {
  Product product;
  FinishProduct finish;
  float alpha = 1;
  int processors = 1;
};

int64_t tiles_of(const Product& p) { return ceil_div(p.m, split::kRows) * ceil_div(p.n, split::kColumns) * p.batch; }

// Whether a tile, as far as y fills it, takes less time than its sums do in fp32: by times of an H200, where a multiprocessor makes
// a tile in 3.6 us and 0.71 more for each stage, and 0.27 TFLOP/s in fp32.
bool tiles_pay(const Product& p) {
  const auto stages = static_cast<double>(ceil_div(p.k, split::kDepth)), tiles = static_cast<double>(tiles_of(p));
  const double sums = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch);
  const double flops = 2 * sums * static_cast<double>(p.k);
  return flops / tiles / 0.27e12 > 3.6e-6 + 0.71e-6 * stages;
}

// Tensor copies take matrices whose rows, or columns, and batches lie whole units of 16 bytes apart.
bool fits(const MatrixView& view, const Operand& operand) {
  return view.leading % 4 == 0 && view.batch_stride % 4 == 0 && operand.alignment_bytes % 16 == 0;
}

const char* make_state(const ops::MatMul& op, const Case& c, State& state) {
  constexpr int64_t kFewTiles = 66;
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  if (c.out[0].type->dtype != DType::kF32 || c.precision != Precision::kTf32x3) return "tf32x3 is not asked for";
  Product& p = state.product;
  if (const char* why = make_product(c, false, p)) return why;
  if (const char* why = finish_product_declines(c)) return why;
  if (p.num_loop_axes > 0) return "batches are strided in more than one way";
  if (!fits(p.a, c.in[0]) || !fits(p.b, c.in[1])) return "rows are no whole vectors of 16 bytes";
  if (p.n % 2 != 0 || p.y.leading % 2 != 0 || p.y.batch_stride % 2 != 0 || c.out[0].alignment_bytes % 8 != 0)
    return "rows of y are no whole pairs";
  if (std::max({p.m, p.n, p.k, tiles_of(p)}) >= (int64_t{1} << 31) - split::kRows) return "2^31 rows, columns or tiles";
  if (tiles_of(p) < kFewTiles || !tiles_pay(p)) return "so few sums take less time in fp32";
  state.finish = {c.has(2), c.has(3), op.gate_sigmoid, c.has(4), op.activation};
  state.alpha = static_cast<float>(op.alpha);
  int device = 0;
  cudaGetDevice(&device);  // whoever plans has made the device the current one
  cudaDeviceGetAttribute(&state.processors, cudaDevAttrMultiProcessorCount, device);
  return nullptr;
}

// Boxes of (rows, k); `in_columns`: its rows are adjacent values.
CUtensorMap map_matrix(const void* data, const MatrixView& view, bool in_columns, int64_t rows, const Product& p) {
  CUtensorMap map{};
  const auto driver = cuda_driver();
  if (!driver) return note_launch_error("no driver with tensor copies"), map;
  const auto size = [](int64_t n) { return static_cast<cuuint64_t>(n); };
  const int64_t inner = in_columns ? rows : p.k, outer = in_columns ? p.k : rows;
  const int64_t line = std::max(view.leading, (inner + 3) / 4 * 4), batches = view.batch_stride == 0 ? 1 : p.batch;
  const cuuint64_t sizes[] = {size(inner), size(outer), size(batches)};
  const cuuint64_t steps[] = {size(line) * 4, size(batches == 1 ? line * outer : view.batch_stride) * 4};  // in bytes
  const cuuint32_t box[] = {split::kDepth, static_cast<cuuint32_t>(in_columns ? split::kDepth : split::kRows), 1};
  const cuuint32_t every[] = {1, 1, 1};
  const CUresult result =
      (*driver)->encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, const_cast<void*>(data), sizes, steps, box,
                              every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) note_launch_error("describing a matrix for tensor copies");
  return map;
}

template <bool kColumnsOfA, bool kColumnsOfB>
void launch(const SplitProduct& p, int processors, cudaStream_t stream) {
  const size_t bytes = split::shared_bytes(kColumnsOfB);
  cudaFuncSetAttribute(split::split_product<kColumnsOfA, kColumnsOfB>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(bytes));
  launch_early({dim3(static_cast<unsigned>(std::min<int64_t>(processors, p.tiles))), split::kThreads, bytes, stream},
               split::split_product<kColumnsOfA, kColumnsOfB>, p);
}

}  // namespace

const char* product_split_declines(const ops::MatMul& op, const Case& c) {
  State state;
  return make_state(op, c, state);
}

Result<KernelState> product_split_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  State state;
  if (const char* why = make_state(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const State>(state));
}

void run_product_split(const ops::MatMul&, const KernelArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  const Product& from = state.product;
  const bool columns_of_a = from.a.transposed, columns_of_b = !from.b.transposed;
  SplitProduct p;
  p.a = map_matrix(args.in[0].data, from.a, columns_of_a, from.m, from);
  p.b = map_matrix(args.in[1].data, from.b, columns_of_b, from.n, from);
  p.a_batched = from.a.batch_stride != 0, p.b_batched = from.b.batch_stride != 0;
  p.y = static_cast<float*>(args.out[0].data);
  p.y_row = from.y.leading, p.y_batch = from.y.batch_stride;
  p.m = static_cast<int>(from.m), p.n = static_cast<int>(from.n);
  p.steps = static_cast<int>(ceil_div(from.k, 2 * split::kDepth));
  p.across = static_cast<int>(ceil_div(p.n, split::kColumns));
  p.in_matrix = p.across * static_cast<int>(ceil_div(p.m, split::kRows));
  p.by_columns = Divider(static_cast<uint32_t>(p.across)), p.by_matrix = Divider(static_cast<uint32_t>(p.in_matrix));
  p.tiles = tiles_of(from);
  p.alpha = state.alpha;
  const cudaStream_t stream = stream_of(args);
  if (columns_of_a)
    columns_of_b ? launch<true, true>(p, state.processors, stream) : launch<true, false>(p, state.processors, stream);
  else
    columns_of_b ? launch<false, true>(p, state.processors, stream) : launch<false, false>(p, state.processors, stream);
  if (state.finish.any()) finish_product(state.finish, args);
}

}  // namespace plica::cuda
