#include <algorithm>

#include "ops/cuda/product_clusters.h"
#include "ops/cuda/product_clusters_launch.cuh"

namespace plica::cuda {
namespace {

using ops::Activation;

// By times of an H200: the other half of the cluster is at least three quarters full, and what a block brings is not too much for one.
constexpr int kFewestRows = 112, kMostRows = 128;
constexpr int64_t kFewestBlocks = 40, kMostBlocks = 2 * kClusterProcessors;
constexpr int kShallow = 768, kMostDepth = 1536, kMostSharedDepth = 5120;

ClusterForm form_for(const BlockProduct& p) {
  const int64_t blocks = blocks_for<SmallTile<BF16>>(p);
  if (blocks * 2 <= kClusterProcessors && p.k > kShallow) return ClusterForm::kSplit;
  return blocks <= kClusterProcessors ? ClusterForm::kDeep : ClusterForm::kSmall;
}

const char* declines_size(ClusterForm form, const BlockProduct& p) {
  if (p.m < kFewestRows) return "so few rows are left to a library";
  if (p.m > kMostRows) return "so many rows are left to a library";
  const bool splits = form == ClusterForm::kSplit;
  if (p.k > (splits ? kMostSharedDepth : kMostDepth)) return "so large a depth is left to a library";
  const int64_t blocks = splits ? blocks_for<SplitTile<BF16>>(p) : blocks_for<SmallTile<BF16>>(p);
  if (blocks < kFewestBlocks) return "so few tiles are left to a library";
  if (blocks > kMostBlocks) return "so many tiles are left to a library";
  if (form == ClusterForm::kSmall && p.activation == Activation::kNone) return "cuBLASLt does it all, and as fast";
  return nullptr;
}

template <class T>
void launch_form(ClusterForm form, const BlockProduct& p, cudaStream_t stream) {
  switch (form) {
    case ClusterForm::kSmall: return launch_clusters<SmallTile<T>>(p, {}, stream);
    case ClusterForm::kDeep: return launch_clusters<DeepTile<T>>(p, {}, stream);
    case ClusterForm::kSplit: return launch_clusters<SplitTile<T>>(p, {}, stream);
  }
}

}  // namespace

const char* make_cluster_product(const ops::MatMul& op, const Case& c, ClusterState& state) {
  if (c.device.compute_capability / 10 != 9) return "the device is not of compute capability 9";
  const DType dtype = c.out[0].type->dtype;
  if (dtype != DType::kF16 && dtype != DType::kBF16) return "elements of other than 16 bits";
  if (op.activation == Activation::kRelu || op.activation == Activation::kGeluTanh)
    return "cuBLASLt knows the activation";
  if (op.alpha != 1) return "a factor";
  BlockProduct& p = state.product;
  if (const char* why = make_block_product(op, c, p)) return why;
  if (p.rows.rank > 1) return "rows of an operand are not one step apart";
  if (p.rows.stride[0][0] < p.k) return "rows of a overlap";
  if (p.k > 1 && p.b_row < p.n) return "rows of b overlap";
  p.constant_b = p.constant_b && (!c.has(2) || c.in[2].constant != nullptr);
  state.form = form_for(p);
  return declines_size(state.form, p);
}

const char* product_clusters_declines(const ops::MatMul& op, const Case& c) {
  ClusterState state;
  return make_cluster_product(op, c, state);
}

Result<KernelState> product_clusters_prepare(const ops::MatMul& op, const Case& c, ConstantStore&) {
  ClusterState state;
  if (const char* why = make_cluster_product(op, c, state)) return Error(Code::kInternal, why);
  return KernelState(std::make_shared<const ClusterState>(state));
}

void run_product_clusters(const ops::MatMul&, const KernelArgs& args) {
  const ClusterState& state = *static_cast<const ClusterState*>(args.state);
  BlockProduct p = state.product;
  set_operands(args, p);
  if (args.out[0].type.dtype == DType::kF16)
    launch_form<F16>(state.form, p, stream_of(args));
  else
    launch_form<BF16>(state.form, p, stream_of(args));
}

}  // namespace plica::cuda
