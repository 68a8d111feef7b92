#pragma once

#include "graph/graph.h"

namespace plica {

// What is to be said of one attention beside that it is one.
struct AttentionKinds {
  bool is_biased = false;         // a bias that differs between heads and between queries is added: more than a mask
  bool has_weights_out = false;   // its weights are read elsewhere too
  bool is_tied = false;           // scores are summed over another axis: tied rows of an MSA
  bool has_global_query = false;  // queries are projected from a mean
  int num_gates = 0;  // sigmoids that multiply its values before the residual, before or behind the output projection
};

// `id` is an Attention, or a Softmax of attention weights.
AttentionKinds kinds_of_attention(const Graph& graph, NodeId id);

}  // namespace plica
