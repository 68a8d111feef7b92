#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace plica {

// A graph as text, a line an input, constant, node and output:
//
//   input x: f32 2x8x32
//   constant gamma: f32 32
//   constant half: f32 scalar = 0.5
//   y = LayerNorm(x, gamma, _) {eps=1e-05}
//   output y
//
// Constants of up to 8 elements stand with their values. A value without a plain name is %id; `output name = %4` where
// the output's name is not the value's.
std::string to_text(const Graph& graph);

// The inverse, for tests and tools. Expressions may be nested and numbers stand for scalar constants of the type of the
// node's other operands; a constant without values gets reproducible ones, floats in [-1, 1) and integers in 0 .. 3.
Result<Graph> parse_graph(std::string_view text);

}  // namespace plica
