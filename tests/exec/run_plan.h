#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "runtime/exec/plan.h"

namespace plica {

// A graph in text notation; the test fails where it is none.
Graph graph_of(std::string_view text);

std::shared_ptr<const Plan> plan_of(Graph graph, const PlanOptions& options = {});

// Plans, runs once on inputs 0, 1, 2, ... of each input's type, and gives the outputs.
std::vector<Tensor> run_plan(const Plan& plan);

// "Copy.ref MatMul.ref": the steps in order.
std::string steps_of(const Plan& plan);

std::vector<double> values_of(const Tensor& tensor);

}  // namespace plica
