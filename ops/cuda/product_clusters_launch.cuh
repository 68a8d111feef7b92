#pragma once

#include <algorithm>

#include "ops/cuda/product_block.cuh"
#include "ops/cuda/product_clusters.cuh"

namespace plica::cuda {

enum class ClusterForm { kSmall, kDeep, kSplit };

struct ClusterState {
  BlockProduct product;
  ClusterForm form = ClusterForm::kSmall;
};

// All of a product in clusters but its operands' addresses; or why a case is none, or does not pay.
const char* make_cluster_product(const ops::MatMul& op, const Case& c, ClusterState& state);

// Two blocks fit a multiprocessor; one has it for itself, and more of b under way; or two share k.
template <class T>
using SmallTile = ClusterTile<T, 2, 1, 6, 1>;
template <class T, bool kNormed = false>
using DeepTile = ClusterTile<T, 2, 1, 6, 2, kNormed>;
template <class T>
using SplitTile = ClusterTile<T, 2, 2, 6, 2>;

constexpr int64_t kClusterProcessors = 132;

template <class C>
int64_t blocks_for(const BlockProduct& p) {
  return ceil_div(p.m, C::kRows * C::kDown) * ceil_div(p.n, C::kColumns) * C::kRanks;
}

// `p` has what goes beyond a product.
template <class C>
void launch_clusters(const BlockProduct& product, ClusterProduct p, cudaStream_t stream) {
  constexpr DType kDType = std::is_same_v<typename C::T, F16> ? DType::kF16 : DType::kBF16;
  p.a = map_boxes({product.a, kDType, product.m, product.k, product.rows.stride[0][0]}, C::kRows);
  p.b = map_boxes({product.b, kDType, product.k, product.n, std::max(product.b_row, int64_t{product.n})},
                  C::kChunk / C::kDown);
  p.product = product;
  p.tile_rows = static_cast<int>(ceil_div(product.m, C::kRows * C::kDown));
  const auto blocks = static_cast<unsigned>(blocks_for<C>(product));
  cudaFuncSetAttribute(product_clusters<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  launch_early({dim3(blocks), C::kThreads, C::kSharedBytes, stream, C::kRanks}, product_clusters<C>, p);
}

}  // namespace plica::cuda
