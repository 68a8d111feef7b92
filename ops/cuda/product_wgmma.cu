#include <algorithm>

#include "ops/cuda/product_wgmma.cuh"
#include "ops/cuda/product_wgmma.h"

namespace plica::cuda {
namespace {

struct State {
  BlockProduct product;
  bool tall = false;  // tiles of 128 rows, not 64
  int ranks = 1;
};

template <class T>
using Low = WgmmaTile<T, 1, 4>;
template <class T>
using Tall = WgmmaTile<T, 2, 6>;

// By times of an H200: a library's product of many rows is as fast.
constexpr int kMostRows = 128;

// Of b: up to here more blocks are worth more than that two low tiles read the same columns costs.
constexpr int64_t kMostElementsOfLow = 1 << 20;

// Of b, by times of an H200: a library's product of more is as fast, sooner where nothing is left for it to read again, which are a
// residual and activations that it lacks.
int64_t most_elements(const ops::MatMul& op, const Case& c, int rows) {
  using ops::Activation;
  constexpr int64_t kMost = 7 << 20, kMostAlone = 2 << 20;
  const bool own = op.activation == Activation::kNone || op.activation == Activation::kRelu ||
                   op.activation == Activation::kGeluTanh;
  return c.has(4) || (!own && rows <= Low<BF16>::kRows) ? kMost : kMostAlone;
}

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
  const int64_t elements = int64_t{p.k} * p.n;
  if (elements > most_elements(op, c, p.m)) return "so large a matrix is left to a library";
  if (p.rows.rank > 1) return "rows of an operand are not one step apart";
  if (p.m > 1 && p.rows.stride[0][0] < p.k) return "rows of a overlap";
  if (p.k > 1 && p.b_row < p.n) return "rows of b overlap";
  p.constant_b = p.constant_b && (!c.has(2) || c.in[2].constant != nullptr);
  state.tall = p.m > Low<BF16>::kRows && elements > kMostElementsOfLow;
  const int64_t rows = state.tall ? Tall<BF16>::kRows : Low<BF16>::kRows;
  state.ranks = ranks_for(ceil_div(p.m, rows) * ceil_div(p.n, Low<BF16>::kColumns), ceil_div(p.k, Low<BF16>::kDepth));
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
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (state.tall)
      launch<Tall<T>>(p, state.ranks, stream_of(args));
    else
      launch<Low<T>>(p, state.ranks, stream_of(args));
  };
  if (args.out[0].type.dtype == DType::kF16)
    run(TypeTag<F16>{});
  else
    run(TypeTag<BF16>{});
}

}  // namespace plica::cuda
