#pragma once

#include "graph/graph.h"

namespace plica {

// Structures that stay several operators, told by the product in their middle or at their end.

// A product of two matrices over pairs of residues for each channel, whose channels are normalised afterwards: the
// triangle multiplicative update of AlphaFold 2 (supplement, algorithms 11 and 12).
bool is_triangle_multiplication(const Graph& graph, NodeId product);

// The second of two projections, back to as many channels as the first one read, with an activation or a gated one in
// between: the transition of AlphaFold, the feed-forward layer of transformers. A layer of a deeper perceptron is none.
bool ends_transition(const Graph& graph, NodeId product);

}  // namespace plica
