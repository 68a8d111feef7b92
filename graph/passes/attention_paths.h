#pragma once

#include "graph/graph.h"

namespace plica {

// Along which axis of `scores`, a product of queries and keys, a softmax goes that is reached through scaling, capping,
// biasing, masking and views and through nothing else, and whose result weighs values in a product: -1 (rows are queries), -2
// (rows are keys), or 0 where there is no such softmax.
int softmax_axis(const Graph& graph, ValueId scores);

// Whether `x`, through views, factors and rotary embeddings, reaches Scores.
bool feeds_scores(const Graph& graph, ValueId x);

// Whether all that reads `x`, through views, is a Mul.
bool feeds_product(const Graph& graph, ValueId x);

}  // namespace plica
