#pragma once

#include <span>
#include <string>

#include "runtime/api/model_state.h"

namespace plica {

// For inputs whose plan is over the memory limit: "batch 12 would fit", or "batch 1, sequence 340 would fit"; the free sizes are made
// smaller in the order in which the model's inputs name them. "nothing smaller fits" where not even ones do; empty where the
// inputs name no free size.
std::string what_fits(Model::State& model, std::span<const TensorView> inputs);

}  // namespace plica
