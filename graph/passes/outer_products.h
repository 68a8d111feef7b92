#pragma once

#include "graph/graph.h"

namespace plica {

// Sums over sequences of products of all pairs of places, in any order of axes and through any views, that a product with
// weights takes over the pairs of channels: each becomes an OuterProductMean without bias, norm and residual. The number
// of them.
Result<int> find_outer_products(Graph& graph);

}  // namespace plica
