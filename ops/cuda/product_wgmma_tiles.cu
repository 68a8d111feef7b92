#include <algorithm>

#include "ops/cuda/product_block.cuh"
#include "ops/cuda/product_wgmma_tiles.cuh"
#include "ops/cuda/product_wgmma_tiles.h"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {
namespace {

using ops::Activation;

enum class TileForm { kAtOnce, kWide, kTurns };

struct State {
  BlockProduct product;
  TileForm form = TileForm::kAtOnce;
};

template <class T>
using AtOnce = ProductTile<T, 128, false, 1, 6>;
template <class T>
using Wide = ProductTile<T, 160, false, 2, 5>;
template <class T>
using Turns = ProductTile<T, 128, true, 1, 6>;

constexpr int64_t kMultiprocessors = 132;
// By times of an H200: with fewer tiles a library's product and a pass over it are as fast.
constexpr int64_t kFewestTiles = 64;
constexpr int kFewestRows = 193;  // two rows of tiles, the second of them half full

template <class C>
int64_t clusters_for(const BlockProduct& p) {
  return ceil_div(p.m, C::kRows * C::kDown) * ceil_div(p.n, C::kColumns);
}

// What cuBLASLt does not put into its own product.
bool is_left_to_passes(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kSilu || activation == Activation::kSigmoid ||
         activation == Activation::kTanh;
}

// Tiles of 128 columns where all run at once, else wider ones where these do; else one after the other.
TileForm form_for(const BlockProduct& p) {
  if (clusters_for<AtOnce<BF16>>(p) <= kMultiprocessors) return TileForm::kAtOnce;
  return clusters_for<Wide<BF16>>(p) * Wide<BF16>::kDown <= kMultiprocessors ? TileForm::kWide : TileForm::kTurns;
}

const char* make_state(const ops::MatMul& op, const Case& c, State& state) {
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "elements of other than 16 bits";
  if (!is_left_to_passes(op.activation)) return "cuBLASLt knows the activation";
  if (op.alpha != 1) return "a factor";
  if (c.has(4)) return "a residual";
  BlockProduct& p = state.product;
  if (const char* why = make_block_product(op, c, p)) return why;
  if (p.m < kFewestRows) return "so few rows are left to a library";
  if (clusters_for<AtOnce<BF16>>(p) < kFewestTiles) return "so few tiles are left to a library";
  if (p.rows.rank > 1) return "rows of an operand are not one step apart";
  if (p.m > 1 && (p.rows.stride[0][0] < p.k || p.rows.stride[1][0] < p.n)) return "rows of a or y overlap";
  if (p.k > 1 && p.b_row < p.n) return "rows of b overlap";
  p.constant_b = p.constant_b && (!c.has(2) || c.in[2].constant != nullptr);
  state.form = form_for(p);
  return nullptr;
}

// y, in boxes of 16 rows that a warp stores.
template <class C>
CUtensorMap map_result(const BlockProduct& p, int64_t row_step) {
  CUtensorMap map{};
  const auto driver = cuda_driver();
  if (!driver) return note_launch_error("no driver with tensor copies"), map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(p.n), static_cast<cuuint64_t>(p.m)};
  const cuuint64_t steps[] = {static_cast<cuuint64_t>(row_step) * 2};
  const cuuint32_t box[] = {C::kOutColumns, 16}, every[] = {1, 1};
  const CUresult result = (*driver)->encode_tiled(
      &map, std::is_same_v<typename C::T, F16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      p.y, sizes, steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
      C::kOutColumns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) note_launch_error("describing a product's result for tensor copies");
  return map;
}

template <class C>
void launch(const BlockProduct& p, cudaStream_t stream) {
  constexpr DType kDType = std::is_same_v<typename C::T, F16> ? DType::kF16 : DType::kBF16;
  const int64_t a_step = std::max(p.rows.stride[0][0], int64_t{p.k});
  const int64_t y_step = std::max(p.rows.stride[1][0], int64_t{p.n});
  TiledProduct tiled;
  tiled.a = map_boxes({p.a, kDType, p.m, p.k, a_step}, C::kRows);
  tiled.b = map_boxes({p.b, kDType, p.k, p.n, std::max(p.b_row, int64_t{p.n})}, C::kDepth / C::kDown);
  tiled.y = map_result<C>(p, y_step);
  tiled.bias = p.bias;
  tiled.m = p.m, tiled.n = p.n, tiled.k = p.k;
  tiled.activation = p.activation;
  tiled.constant_b = p.constant_b;
  tiled.tile_rows = static_cast<int>(ceil_div(p.m, C::kRows * C::kDown));
  tiled.tiles = static_cast<int>(clusters_for<C>(p));
  const auto clusters = static_cast<unsigned>(std::min<int64_t>(tiled.tiles, kMultiprocessors / C::kDown));
  cudaFuncSetAttribute(product_wgmma_tiles<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  launch_early({dim3(clusters * C::kDown), C::kThreads, C::kSharedBytes, stream, C::kDown}, product_wgmma_tiles<C>,
               tiled);
}

template <class T>
void launch_form(const State& state, const BlockProduct& p, cudaStream_t stream) {
  switch (state.form) {
    case TileForm::kAtOnce: return launch<AtOnce<T>>(p, stream);
    case TileForm::kWide: return launch<Wide<T>>(p, stream);
    case TileForm::kTurns: return launch<Turns<T>>(p, stream);
  }
}

}  // namespace

const char* product_wgmma_tiles_declines(const ops::MatMul& op, const Case& c) {
  State state;
  return make_state(op, c, state);
}

Result<KernelState> product_wgmma_tiles_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  State state;
  if (const char* why = make_state(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const State>(state));
}

void run_product_wgmma_tiles(const ops::MatMul&, const KernelArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  BlockProduct p = state.product;
  set_operands(args, p);
  if (args.out[0].type.dtype == DType::kF16)
    launch_form<F16>(state, p, stream_of(args));
  else
    launch_form<BF16>(state, p, stream_of(args));
}

}  // namespace plica::cuda
