#include <algorithm>

#include "ops/cuda/product_wgmma.cuh"
#include "ops/cuda/product_wgmma.h"

namespace plica::cuda {
namespace {

struct State {
  BlockProduct product;
  int ranks = 1;
};

template <class T>
using Tile = WgmmaTile<T, 1, 4>;

// By times of an H200: a library's product of many rows is as fast. Larger matrices, as large models have them, come from memory and
// not from a cache: what was faster alone did not make a model of 1,280 channels so.
constexpr int kMostRows = 128;
constexpr int64_t kMostElements = 1 << 20;  // of b

// As many blocks a tile as there are multiprocessors for, and a few more.
int ranks_for(int64_t tiles, int64_t stages) {
  constexpr int64_t kMostBlocks = 160;
  for (const int ranks : {4, 2})
    if (ranks <= stages && tiles * ranks <= kMostBlocks) return ranks;
  return 1;
}

const char* make_state(const ops::MatMul& op, const Case& c, State& state) {
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "elements of other than 16 bits";
  BlockProduct& p = state.product;
  if (const char* why = make_block_product(op, c, p)) return why;
  if (p.m > kMostRows) return "so many rows are left to a library";
  if (int64_t{p.k} * p.n > kMostElements) return "so large a matrix is left to a library";
  if (p.rows.rank > 1) return "rows of an operand are not one step apart";
  if (p.m > 1 && p.rows.stride[0][0] < p.k) return "rows of a overlap";
  if (p.k > 1 && p.b_row < p.n) return "rows of b overlap";
  p.constant_b = p.constant_b && (!c.has(2) || c.in[2].constant != nullptr);
  const int64_t tiles = ceil_div(p.m, Tile<BF16>::kRows) * ceil_div(p.n, Tile<BF16>::kColumns);
  state.ranks = ranks_for(tiles, ceil_div(p.k, Tile<BF16>::kDepth));
  return nullptr;
}

template <class C>
void launch(BlockProduct product, int ranks, cudaStream_t stream) {
  constexpr DType kDType = std::is_same_v<typename C::T, F16> ? DType::kF16 : DType::kBF16;
  const EarlyLaunch to = block_launch<C>(product, C::kDepth, ranks, stream);
  const int64_t a_step = std::max(product.rows.stride[0][0], int64_t{product.k});
  const WgmmaProduct p{
      map_boxes({product.a, kDType, product.m, product.k, a_step}, C::kRows),
      map_boxes({product.b, kDType, product.k, product.n, std::max(product.b_row, int64_t{product.n})}, C::kDepth),
      product};
  cudaFuncSetAttribute(product_wgmma<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  launch_early(to, product_wgmma<C>, p);
}

}  // namespace

const char* product_wgmma_declines(const ops::MatMul& op, const Case& c) {
  State state;
  return make_state(op, c, state);
}

Result<KernelState> product_wgmma_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  State state;
  if (const char* why = make_state(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const State>(state));
}

void run_product_wgmma(const ops::MatMul&, const KernelArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  BlockProduct p = state.product;
  set_operands(args, p);
  if (args.out[0].type.dtype == DType::kF16)
    launch<Tile<F16>>(p, state.ranks, stream_of(args));
  else
    launch<Tile<BF16>>(p, state.ranks, stream_of(args));
}

}  // namespace plica::cuda
