#pragma once

#include <memory>
#include <vector>

#include "plica/session.h"

namespace plica {

// Inputs and outputs of a session in memory of the model's device, so that runs copy nothing. On the CPU the inputs lie where they
// are (and must outlive this), the outputs are the session's.
struct Resident {
  std::vector<std::shared_ptr<void>> memory;
  std::vector<TensorView> inputs, outputs;

  // Runs once.
  static Result<Resident> make(Session& session, const std::vector<Tensor>& inputs);

  Status bind(Session& session) const;
};

}  // namespace plica
