#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plica/error.h"
#include "plica/export.h"
#include "plica/model.h"
#include "plica/tensor.h"

namespace plica {

// Runs a model: owns the arena. One thread at a time; make one a thread.
class PLICA_API Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Binds caller's memory to input `index`; it is read in place by the next runs (dense host memory). kInvalidInput where dtype or
  // rank or a fixed size is not the model's.
  Status bind(size_t index, const TensorView& input);

  // Binds caller's memory to output `index`: the next runs write there. Its shape must be what the run will produce.
  Status bind_output(size_t index, const TensorView& output);

  // Runs with what is bound. The first run at new shapes plans and maps memory; later ones allocate nothing.
  Status run();

  // Of the last run; valid until the next.
  const std::vector<TensorView>& outputs() const;

  // The convenient form: binds by name, runs, copies the outputs. kInvalidInput names an input that is missing, unknown or of a wrong type.
  Result<std::map<std::string, Tensor>> run(const std::map<std::string, Tensor>& inputs);

  struct [[gnu::visibility("hidden")]] State;  // the library's own
  State& state() { return *state_; }

 private:
  friend class Model;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plica
