#pragma once

#include "graph/graph.h"
#include "graph/passes/axis_atoms.h"

// Graphs as a reader sees them: what views and casts give is what they are given.
namespace plica {

// The value that `value` is a view or cast of, through any number of these; itself where it is none.
ValueId viewed(const Graph& graph, ValueId value);

// The same with its axes.
AtomView viewed(const Graph& graph, AxisAtoms& atoms, AtomView view);

// The node that makes what `value` is a view or cast of; kNone where that is an input or a constant.
NodeId maker_of(const Graph& graph, ValueId value);

// Who reads the value or views and casts of it, these apart: a node and the operand, one entry a use.
struct Use {
  NodeId node;
  size_t operand;
};
std::vector<Use> uses_behind_views(const Graph& graph, ValueId value);

// Whether the value or a view or cast of it is an output of the graph.
bool is_seen_outside(const Graph& graph, ValueId value);

// Whether the node is a product of its first operand and a constant matrix.
bool is_projection(const Graph& graph, const Node& node);

}  // namespace plica
