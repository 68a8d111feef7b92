#pragma once

#include "graph/graph.h"

namespace plica {

// Whether `scores`, through scaling, biasing, masking and views and through nothing else, reaches one softmax whose
// result (guarded against NaN or not) has no other use than to weigh values in one product.
bool feeds_softmax(const Graph& graph, ValueId scores);

// Whether `x`, through views, factors and rotary embeddings, reaches Scores.
bool feeds_scores(const Graph& graph, ValueId x);

// Whether all that reads `x`, through views, is a Mul.
bool feeds_product(const Graph& graph, ValueId x);

}  // namespace plica
