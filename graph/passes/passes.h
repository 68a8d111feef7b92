#pragma once

#include "graph/graph.h"

namespace plica {

// The passes; each file says what it does. All return the number of edits.
Result<int> canonicalise(Graph& graph, ConstantStore& constants);
Result<int> cut_norms(Graph& graph, ConstantStore& constants);
Result<int> drop_broadcasts(Graph& graph, ConstantStore& constants);
Result<int> expand_scores(Graph& graph, ConstantStore& constants);
Result<int> fold_norms(Graph& graph, ConstantStore& constants);
Result<int> fold_weights(Graph& graph, ConstantStore& constants);
Result<int> fuse_activation(Graph& graph, ConstantStore& constants);
Result<int> fuse_attention(Graph& graph, ConstantStore& constants);
Result<int> fuse_gated_norm(Graph& graph, ConstantStore& constants);
Result<int> fuse_gated_product(Graph& graph, ConstantStore& constants);
Result<int> fuse_linear(Graph& graph, ConstantStore& constants);
Result<int> fuse_norm(Graph& graph, ConstantStore& constants);
Result<int> fuse_outer_product_mean(Graph& graph, ConstantStore& constants);
Result<int> fuse_pointwise(Graph& graph, ConstantStore& constants);
Result<int> fuse_rotary(Graph& graph, ConstantStore& constants);
Result<int> lower_pointwise(Graph& graph, ConstantStore& constants);
Result<int> merge_equal(Graph& graph, ConstantStore& constants);
Result<int> merge_masks(Graph& graph, ConstantStore& constants);
Result<int> merge_projections(Graph& graph, ConstantStore& constants);
Result<int> merge_rotary(Graph& graph, ConstantStore& constants);
Result<int> put_channels_first(Graph& graph, ConstantStore& constants);
Result<int> remove_dead(Graph& graph, ConstantStore& constants);
Result<int> store_bf16(Graph& graph, ConstantStore& constants);
Result<int> store_bf16_mixed(Graph& graph, ConstantStore& constants);
Result<int> store_f16(Graph& graph, ConstantStore& constants);
Result<int> store_f32(Graph& graph, ConstantStore& constants);
Result<int> tile_rows(Graph& graph, ConstantStore& constants);
Result<int> turn_weights(Graph& graph, ConstantStore& constants);
Result<int> widen_half(Graph& graph, ConstantStore& constants);

}  // namespace plica
