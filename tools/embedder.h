#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/batching.h"
#include "models/family.h"
#include "models/pooling.h"
#include "plica/model.h"
#include "plica/session.h"
#include "tools/vector_writer.h"

namespace plica {

struct EmbedderOptions {
  FamilyOptions family;  // with the model's path
  LoadOptions load;
  BatchLimits limits;
  std::vector<Pooling> poolings;
  bool per_residue = false;
};

// A record on its way: `out` is filled when it has run.
struct QueuedRecord {
  Encoding encoding;
  EmbeddedRecord out;
  bool done = false;
};

struct EmbedTotals {
  int64_t num_batches = 0;
  int64_t num_records = 0;  // that ran
  int64_t num_residues = 0;
  int64_t num_tokens = 0;
  int64_t num_padded_tokens = 0;
};

// Runs sequences through a model in batches. A batch that fails is halved until the record that fails stands alone.
class Embedder {
 public:
  static Result<Embedder> create(EmbedderOptions options);

  // Encodes; where the record cannot run (unknown letters, no residues, too long) `out.failed` says why.
  QueuedRecord queue(const std::string& sequence, UnknownPolicy unknown) const;

  // Runs those that have not failed. `stop` ends between two batches; `tick` is called behind each with what it added.
  // An Error means that no record at all can run.
  Status run(std::span<QueuedRecord> records, const std::atomic<bool>& stop,
             const std::function<void(int64_t records, int64_t residues)>& tick);

  const Family& family() const { return family_; }
  const EmbedTotals& totals() const { return totals_; }

 private:
  Embedder(EmbedderOptions options, Model model, Session session, Family family)
      : options_(std::move(options)),
        model_(std::move(model)),
        session_(std::move(session)),
        family_(std::move(family)) {}

  std::vector<Shape> shapes_of(const BatchPlan::Batch& batch) const;
  BatchPlan plan(std::span<const int64_t> lengths) const;
  void tell_forecast(const BatchPlan& plan);
  Result<TensorView> run_model(std::span<QueuedRecord* const> records, int64_t width);
  Status run_batch(std::span<QueuedRecord* const> records, int64_t width);
  Status collect(const TensorView& output, std::span<QueuedRecord* const> records, int64_t width);
  Status probe_padding(QueuedRecord& record, int64_t width);

  EmbedderOptions options_;
  Model model_;
  Session session_;
  Family family_;
  EmbedTotals totals_;
  std::vector<Tensor> inputs_;  // what is bound
  bool probed_ = false;         // whether it is known if padding changes results
};

}  // namespace plica
