#pragma once

#include <vector>

#include "graph/graph.h"
#include "plica/tensor.h"

namespace plica::test {

// The outputs of a graph on given inputs, node by node through the reference kernels. Scores are expanded first.
Result<std::vector<Tensor>> evaluate_graph(Graph graph, const std::vector<Tensor>& inputs);

// Reproducible contents for the inputs of a graph: floats in [-1, 1), bools, integers in 0 .. 3.
Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed = 1);

// The largest |a - b| / (1 + |b|); NaN equals NaN, and infinity where one alone is NaN or the types differ.
double difference(const Tensor& a, const Tensor& b);

}  // namespace plica::test
