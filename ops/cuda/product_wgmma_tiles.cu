#include "ops/cuda/product_wgmma_tiles.h"
#include "ops/cuda/product_wgmma_tiles_launch.cuh"

namespace plica::cuda {
namespace {

using ops::Activation;

// By times of an H200: with fewer tiles a library's product and a pass over it are as fast.
constexpr int64_t kFewestTiles = 64;
constexpr int kFewestRows = 193;  // two rows of tiles, the second of them half full

// What cuBLASLt does not put into its own product.
bool is_left_to_passes(Activation activation) {
  return activation == Activation::kGelu || activation == Activation::kSilu || activation == Activation::kSigmoid ||
         activation == Activation::kTanh;
}

// Tiles of 128 columns where all run at once, else wider ones where these do; else one after the other.
TileForm form_for(const BlockProduct& p) {
  if (tiles_for<AtOnceTile<BF16, false>>(p) <= kMultiprocessors) return TileForm::kAtOnce;
  return tiles_for<WideTile<BF16, false>>(p) <= kMultiprocessors ? TileForm::kWide : TileForm::kTurns;
}

template <class T>
void launch(const TiledState& state, const BlockProduct& p, cudaStream_t stream) {
  switch (state.form) {
    case TileForm::kAtOnce: return launch_tile<AtOnceTile<T, false>>(p, {}, stream);
    case TileForm::kWide: return launch_tile<WideTile<T, false>>(p, {}, stream);
    case TileForm::kTurns: return launch_tile<TurnsTile<T>>(p, {}, stream);
  }
}

const char* make_state(const ops::MatMul& op, const Case& c, TiledState& state) {
  if (!is_left_to_passes(op.activation)) return "cuBLASLt knows the activation";
  return make_tiled_product(op, c, state);
}

}  // namespace

const char* make_tiled_product(const ops::MatMul& op, const Case& c, TiledState& state) {
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "elements of other than 16 bits";
  if (op.alpha != 1) return "a factor";
  if (c.has(4)) return "a residual";
  BlockProduct& p = state.product;
  if (const char* why = make_block_product(op, c, p)) return why;
  if (p.m < kFewestRows) return "so few rows are left to a library";
  if (tiles_for<AtOnceTile<BF16, false>>(p) < kFewestTiles) return "so few tiles are left to a library";
  if (p.rows.rank > 1) return "rows of an operand are not one step apart";
  if (p.m > 1 && (p.rows.stride[0][0] < p.k || p.rows.stride[1][0] < p.n)) return "rows of a or y overlap";
  if (p.k > 1 && p.b_row < p.n) return "rows of b overlap";
  p.constant_b = p.constant_b && (!c.has(2) || c.in[2].constant != nullptr);
  state.form = form_for(p);
  return nullptr;
}

const char* product_wgmma_tiles_declines(const ops::MatMul& op, const Case& c) {
  TiledState state;
  return make_state(op, c, state);
}

Result<KernelState> product_wgmma_tiles_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  TiledState state;
  if (const char* why = make_state(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const TiledState>(state));
}

void run_product_wgmma_tiles(const ops::MatMul&, const KernelArgs& args) {
  const auto& state = *static_cast<const TiledState*>(args.state);
  BlockProduct p = state.product;
  set_operands(args, p);
  if (args.out[0].type.dtype == DType::kF16)
    launch<F16>(state, p, stream_of(args));
  else
    launch<BF16>(state, p, stream_of(args));
}

}  // namespace plica::cuda
