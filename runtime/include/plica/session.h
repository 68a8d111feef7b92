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

// Runs a model: owns the arena, and on a GPU the stream and the captured graphs. One thread at a time; make one a thread.
class PLICA_API Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Binds caller's memory to input `index`; it is read by the next runs: in place, but for memory of the host where the model is
  // on a GPU, which is copied at each run. Memory of that GPU must be ready on the session's stream. kInvalidInput where dtype
  // or rank or a fixed size is not the model's.
  Status bind(size_t index, const TensorView& input);

  // Binds caller's memory (of the host or of the model's GPU) to output `index`: the next runs write there. Its shape must be
  // what the run will produce, and it must share no byte with a bound input: steps may write it while inputs are still to be read.
  // Without data: the session's own memory of the host again.
  Status bind_output(size_t index, const TensorView& output);

  // Runs with what is bound. The first run at new shapes plans and maps memory; later ones allocate nothing, but that a GPU
  // maps the place of an input or output that is copied for the first time. Outputs in memory of
  // the host are there when this returns. Where every output is bound to memory of the GPU the work is only queued on the
  // session's stream; data that such a run finds wrong (an index outside) is an error of a later run() or of synchronize().
  Status run();

  // Waits for queued runs.
  Status synchronize();

  // Runs are queued on this stream (a cudaStream_t of the model's GPU) behind what is queued there; null: the session's own.
  Status set_stream(void* stream);

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
