#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plica/device.h"
#include "plica/error.h"
#include "plica/export.h"
#include "plica/tensor.h"

namespace plica {

class Session;

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning };

struct LoadOptions {
  std::string device = "cpu";                 // "cpu", "cuda" or "cuda:N"
  Precision precision = Precision::kFile;     // the file's own types, fp32 strict
  bool stored_edges = false;                  // inputs and outputs as the precision stores floats, not as the file does
  int num_threads = 0;                        // of a session's team; 0: the processors this process may use
  bool map_files = true;                      // false: read them into memory (for file systems that truncate)
  size_t memory_limit_bytes = 0;              // of a session's arena; 0: none. It may cost time
  size_t num_plans = 64;                      // plans kept, least recently used first out
  std::vector<std::string> skip_passes = {};  // names of graph passes that are left out; "runs": a launch for each step
  std::vector<std::string> kernels = {};      // "Attention=ref": an operator's kernel, whatever else would be chosen
  std::function<void(LogLevel, std::string_view)> log = {};  // nothing is printed; called from any thread
};

// An input or output as the file declares it.
struct TensorInfo {
  std::string name;
  DType dtype;
  bool has_rank;                     // false: the file says nothing of the shape
  Shape shape;                       // -1 where a size is free
  std::vector<std::string> symbols;  // one an axis: the name of a free size, or empty
};

// A loaded model: immutable, cheap to copy, shared by threads. Holds the weights (once) and the plans.
class PLICA_API Model {
 public:
  static Result<Model> load(const std::string& path, LoadOptions options = {});

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;

  // A model of these of its outputs alone, in this order: what only the others need is not computed. Shares the file and the
  // weights with this one, has plans of its own. kInvalidInput for a name that is unknown or stands twice, and for none.
  Result<Model> select(const std::vector<std::string>& output_names) const;

  // Bytes of arena that a run with these input shapes needs (in the order of inputs()); plans, and keeps the plan.
  Result<size_t> forecast(const std::vector<Shape>& input_shapes) const;

  // A session runs the model on one thread at a time.
  Result<Session> session() const;

  struct [[gnu::visibility("hidden")]] State;  // the library's own
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace plica
