#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/exec/plan_runner.h"

namespace plica {

// The inside of a Session, for tools too. One thread at a time.
struct Session::State {
  State(std::shared_ptr<Model::State> model_state, std::unique_ptr<PlanRunner> plan_runner);

  Status bind(size_t index, const TensorView& input);
  Status bind_output(size_t index, const TensorView& output);
  void unbind();                               // forgets the inputs and outputs that are bound
  Status run(std::span<double> step_ms = {});  // with one a step of planned->plan: each step's time

  Status trace(std::span<double> step_times);  // as PlanRunner::trace

  // Plans for what is bound and gets the memory, so that the next run only runs.
  Status prepare();

  std::shared_ptr<Model::State> model;
  std::unique_ptr<PlanRunner> runner;
  std::shared_ptr<const Planned> planned;
  std::vector<TensorView> outputs;  // of the last run

 private:
  struct Input {
    TensorView view;  // as the caller gave it
    bool is_bound = false;
    bool is_on_device = false;
    Tensor staged;  // dense, where the view is not or lies askew: filled before each run
    Tensor value;   // on the host, of memory of the device that a plan depends on
  };

  Status check_output(size_t index) const;
  Status bind_ports();  // plans, and binds what is bound here to the runner
  void stage(Input& input) const;
  bool needs_value(size_t index) const;
  Status fetch_values();  // of inputs on the device that plans depend on
  Result<std::shared_ptr<const Planned>> find_plan();

  std::vector<Input> inputs_;
  std::vector<TensorView> dense_inputs_;   // as the plan sees them
  std::vector<TensorView> host_inputs_;    // the same for planning: null where the data is on the device and not needed
  std::vector<TensorView> bound_outputs_;  // data is null where the caller brought none
};

}  // namespace plica
