#pragma once

#include "graph/graph.h"

namespace plica {

// Strides that the maker of `value` should write so that what follows needs no copy: where its only reader is a Transpose, those that make
// the transposed tensor dense; not for what products read with rows and columns swapped. Empty: dense.
Strides preferred_strides(const Graph& graph, ValueId value);

}  // namespace plica
