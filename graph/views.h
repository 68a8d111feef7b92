#pragma once

#include "graph/graph.h"

namespace plica {

// The value that `value` is a view of, through any number of views; itself where it is none.
ValueId viewed(const Graph& graph, ValueId value);

// The node that makes what `value` is a view of; kNone where that is an input or a constant.
NodeId maker_of(const Graph& graph, ValueId value);

// Who reads the value or views of it, views apart: a node and the operand, one entry a use.
struct Use {
  NodeId node;
  size_t operand;
};
std::vector<Use> uses_behind_views(const Graph& graph, ValueId value);

// Whether the value or a view of it is an output of the graph.
bool is_seen_outside(const Graph& graph, ValueId value);

// Whether the node is a product of its first operand and a constant matrix.
bool is_projection(const Graph& graph, const Node& node);

}  // namespace plica
