#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace plica {

constexpr int64_t kWhole = -1;  // in an axis' place: all of the operand is read

// The axis along which each operand of a node is cut where its first result is cut along `axis`; kWhole for those that every part
// reads whole, absent ones too. Nullopt where the node cannot be computed part by part, or its operator is not known here.
std::optional<std::vector<int64_t>> operand_axes(const Graph& graph, NodeId node, int64_t axis);

// The attributes that make `size` of the node's first result along `axis`, given operands cut so.
Attrs attrs_of_part(const Graph& graph, NodeId node, int64_t axis, int64_t size);

}  // namespace plica
