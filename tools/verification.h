#pragma once

#include <string>
#include <vector>

#include "plica/model.h"
#include "tools/allclose.h"

namespace plica {

struct VerifyTolerance {
  double relative = -1;  // below zero: 1e-4, and 2e-2 for outputs of 16 bits
  double absolute = -1;
};

// One output of the model as it runs, against the plain plan: no fusion, reference kernels only.
struct VerifiedOutput {
  std::string name;
  TensorType type;
  Difference difference;
};

// Runs both plans on these inputs, in the model's order.
Result<std::vector<VerifiedOutput>> verify(Model::State& model, const std::vector<Tensor>& inputs,
                                           const VerifyTolerance& tolerance);

// kDone where all outputs agree, else kPartly.
int exit_code(const std::vector<VerifiedOutput>& outputs);

}  // namespace plica
