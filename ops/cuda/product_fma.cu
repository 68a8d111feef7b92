#include "ops/cuda/product_fma.cuh"
#include "ops/cuda/product_fma.h"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

using Small = FmaTile<32, 32, 2, 32, 4>;
using Large = FmaTile<32, 64, 4, 32, 4>;

struct State {
  BlockProduct product;
  BlockChoice choice;
};

template <class Tile>
constexpr BlockTile tile_of(int blocks_at_once, double stage_us, double block_us) {
  return {Tile::kRows, Tile::kColumns, Tile::kDepth, blocks_at_once, stage_us, block_us};
}
constexpr BlockTile kTiles[] = {tile_of<Small>(4, 0.46, 1.8), tile_of<Large>(4, 0.6, 2.7)};

// Above, larger tiles than these read less, and a library's are as fast.
constexpr double kMostSums = 8e7;

const char* make_state(const ops::MatMul& op, const Case& c, State& state) {
  if (c.device.compute_capability < 90) return "the device has no clusters of blocks";
  if (c.out[0].type->dtype != DType::kF32) return "not f32";
  if (c.precision == Precision::kTf32) return "tf32 is asked for";
  if (const char* why = make_block_product(op, c, state.product)) return why;
  const BlockProduct& p = state.product;
  if (static_cast<double>(p.m) * p.n * p.k > kMostSums) return "so large a product is left to a library";
  state.choice = choose_tile(p, kTiles);
  return nullptr;
}

template <class Tile>
void launch(BlockProduct p, int ranks, cudaStream_t stream) {
  cudaFuncSetAttribute(product_fma<Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  launch_early(block_launch<Tile>(p, Tile::kDepth, ranks, stream), product_fma<Tile>, p);
}

}  // namespace

const char* product_fma_declines(const ops::MatMul& op, const Case& c) {
  State state;
  return make_state(op, c, state);
}

Result<KernelState> product_fma_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  State state;
  if (const char* why = make_state(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const State>(state));
}

void run_product_fma(const ops::MatMul&, const KernelArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  BlockProduct p = state.product;
  set_operands(args, p);
  if (state.choice.tile == 0)
    launch<Small>(p, state.choice.ranks, stream_of(args));
  else
    launch<Large>(p, state.choice.ranks, stream_of(args));
}

}  // namespace plica::cuda
