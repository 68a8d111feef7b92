#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/device/arena.h"
#include "runtime/exec/executor.h"

namespace plica {

// The inside of a Session, for tools too. One thread at a time.
struct Session::State {
  explicit State(std::shared_ptr<Model::State> model_state);

  Status bind(size_t index, const TensorView& input);
  Status bind_output(size_t index, const TensorView& output);
  void unbind();                               // forgets the inputs and outputs that are bound
  Status run(std::span<double> step_ms = {});  // with one a step of planned->plan: each step's time

  // Plans for what is bound and gets the memory, so that the next run only runs.
  Status prepare();

  std::shared_ptr<Model::State> model;
  std::shared_ptr<const Planned> planned;
  std::vector<TensorView> outputs;  // of the last run

 private:
  struct Input {
    TensorView view;  // as the caller gave it
    bool is_bound = false;
    Tensor staged;  // dense, where the view is not or lies askew: filled before each run
  };

  Status check_output(size_t index) const;
  void stage(Input& input) const;

  std::vector<Input> inputs_;
  std::vector<TensorView> dense_inputs_;   // as the plan sees them
  std::vector<TensorView> bound_outputs_;  // data is null where the caller brought none
  Arena arena_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace plica
