#include "tools/embedder.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "runtime/core/result.h"

namespace plica {
namespace {

GraphPorts ports_of(const Model& model) {
  const auto convert = [](const std::vector<TensorInfo>& infos) {
    std::vector<ModelPort> ports;
    for (const TensorInfo& info : infos) ports.push_back({info.name, info.dtype, info.has_rank ? info.shape : Shape()});
    return ports;
  };
  return {convert(model.inputs()), convert(model.outputs())};
}

// Whether every record would meet this error.
bool is_hopeless(const Error& error) {
  return error.code() == Code::kUnsupported || error.code() == Code::kInvalidModel ||
         error.code() == Code::kDeviceError;
}

// A (B, C) output as (B, 1, C).
TensorView with_rows(TensorView output) {
  if (output.type.shape.size() != 2) return output;
  output.type.shape.insert(output.type.shape.begin() + 1, 1);
  if (!output.type.strides.empty()) output.type.strides.insert(output.type.strides.begin() + 1, 1);
  return output;
}

}  // namespace

Result<Embedder> Embedder::create(EmbedderOptions options) {
  PLICA_TRY(Model model, Model::load(options.family.model_path, options.load));
  PLICA_TRY(Family family, choose_family(ports_of(model), options.family));
  for (const std::string& guess : family.guesses) spdlog::warn("guessed: {}", guess);
  for (const Pooling pooling : options.poolings)
    if (pooling == Pooling::kCls && family.alphabet.prefix.empty())
      return Error(Code::kInvalidInput, "the alphabet " + family.alphabet.name +
                                            " puts no token before a sequence; --pool cls has nothing to take");
  if (family.fixed_batch > 0) options.limits.max_records = family.fixed_batch;
  if (family.fixed_tokens > 0) options.limits.max_tokens = std::max(options.limits.max_tokens, family.fixed_tokens);
  PLICA_TRY(model, model.select({family.output_name}));
  PLICA_TRY(Session session, model.session());
  spdlog::info("{}: family {}, alphabet {}, vectors from output '{}'", options.family.model_path, family.name,
               family.alphabet.name, family.output_name);
  return Embedder(std::move(options), std::move(model), std::move(session), std::move(family));
}

QueuedRecord Embedder::queue(const std::string& sequence, UnknownPolicy unknown) const {
  QueuedRecord record;
  auto encoding = family_.alphabet.encode(sequence, unknown);
  if (!encoding) {
    record.out.failed = encoding.error().what();
    return record;
  }
  record.encoding = *std::move(encoding);
  record.out.num_residues = record.encoding.num_residues;
  const auto tokens = static_cast<int64_t>(record.encoding.ids.size());
  const int64_t limit = family_.fixed_tokens > 0 ? family_.fixed_tokens : family_.max_tokens;
  if (record.encoding.num_residues == 0) {
    record.out.failed = "has no residues";
  } else if (limit > 0 && tokens > limit) {
    const int64_t around = tokens - record.encoding.num_residues;
    record.out.failed = "has " + std::to_string(record.encoding.num_residues) + " residues; the model takes at most " +
                        std::to_string(limit - around) + " (" + std::to_string(limit) + " tokens)";
  } else if (family_.fixed_tokens > tokens && !family_.has_mask()) {
    record.out.failed = "has " + std::to_string(tokens) + " tokens; the model takes exactly " + std::to_string(limit) +
                        " and has no mask for padding";
  }
  return record;
}

BatchPlan Embedder::plan(std::span<const int64_t> lengths) const {
  if (family_.fixed_tokens == 0) return plan_batches(lengths, options_.limits);
  const std::vector<int64_t> fixed(lengths.size(), family_.fixed_tokens);
  return plan_batches(fixed, options_.limits);
}

std::vector<Shape> Embedder::shapes_of(const BatchPlan::Batch& batch) const {
  const int64_t rows = family_.fixed_batch > 0 ? family_.fixed_batch : static_cast<int64_t>(batch.records.size());
  return std::vector<Shape>(family_.inputs.size(), Shape{rows, batch.width});
}

void Embedder::tell_forecast(const BatchPlan& plan) {
  if (plan.batches.empty() || totals_.num_batches > 0) return;
  const BatchPlan::Batch& largest = plan.batches.front();
  const auto bytes = model_.forecast(shapes_of(largest));
  if (bytes) {
    spdlog::info("the largest batch, {} x {} tokens, needs {:.1f} MiB beside the weights", largest.records.size(),
                 largest.width, static_cast<double>(*bytes) / 1048576.0);
  } else {
    spdlog::warn("the largest batch, {} x {} tokens, will be split: {}", largest.records.size(), largest.width,
                 bytes.error().what());
  }
}

Result<TensorView> Embedder::run_model(std::span<QueuedRecord* const> records, int64_t width) {
  std::vector<const Encoding*> sequences;
  for (const QueuedRecord* record : records) sequences.push_back(&record->encoding);
  const int64_t rows = family_.fixed_batch > 0 ? family_.fixed_batch : static_cast<int64_t>(records.size());
  PLICA_TRY(inputs_, make_batch(family_, sequences, rows, width));
  for (size_t i = 0; i < inputs_.size(); ++i) PLICA_CHECK(session_.bind(i, inputs_[i].view()));
  PLICA_CHECK(session_.run());
  const TensorView output = with_rows(session_.outputs()[0]);
  const Shape& shape = output.type.shape;
  if (shape.size() != 3 || shape[0] != rows || (shape[1] != width && shape[1] != 1))
    return Error(Code::kInvalidInput, "output '" + family_.output_name + "' is " + to_string(output.type) +
                                          "; wanted " + std::to_string(rows) + " x " + std::to_string(width) +
                                          " tokens x columns (--output NAME chooses another)");
  return output;
}

Status Embedder::collect(const TensorView& output, std::span<QueuedRecord* const> records, int64_t width) {
  const Shape& shape = output.type.shape;
  const bool whole = shape[1] == 1 && width > 1;  // one row a protein: the model has pooled already
  for (size_t i = 0; i < records.size(); ++i) {
    QueuedRecord& record = *records[i];
    const Encoding& encoding = record.encoding;
    const ResidueRows rows{static_cast<int64_t>(i), whole ? 0 : encoding.first_residue,
                           whole ? 1 : encoding.num_residues};
    record.out.vectors.assign(options_.poolings.size(), std::vector<float>(static_cast<size_t>(shape[2])));
    for (size_t p = 0; p < options_.poolings.size(); ++p)
      pool(output, rows, options_.poolings[p], record.out.vectors[p]);
    if (options_.per_residue) {
      PLICA_TRY(record.out.residues, dense_copy(residues_of(output, rows)));
    }
    record.done = true;
    totals_.num_residues += encoding.num_residues;
    totals_.num_tokens += static_cast<int64_t>(encoding.ids.size());
  }
  ++totals_.num_batches;
  totals_.num_records += static_cast<int64_t>(records.size());
  totals_.num_padded_tokens += static_cast<int64_t>(records.size()) * width;
  return {};
}

Status Embedder::run_batch(std::span<QueuedRecord* const> records, int64_t width) {
  Result<TensorView> output = run_model(records, width);
  Status status = output ? collect(*output, records, width) : Status(output.take_error());
  if (status) return {};
  if (is_hopeless(status.error()) && totals_.num_batches == 0) return status;
  if (records.size() == 1) {
    records[0]->out.failed = to_string(status.error());
    return {};
  }
  spdlog::debug("a batch of {} x {} tokens is split: {}", records.size(), width, status.error().what());
  const size_t half = records.size() / 2;
  for (const auto part : {records.first(half), records.subspan(half)}) {
    const auto longest = [](const QueuedRecord* a, const QueuedRecord* b) {
      return a->encoding.ids.size() < b->encoding.ids.size();
    };
    const auto tokens =
        static_cast<int64_t>((*std::max_element(part.begin(), part.end(), longest))->encoding.ids.size());
    PLICA_CHECK(run_batch(part, family_.fixed_tokens > 0 ? width : tokens));
  }
  return {};
}

// Runs one record alone and padded to `width`; where that changes its vector no batch is padded any more.
Status Embedder::probe_padding(QueuedRecord& record, int64_t width) {
  constexpr double kTolerated = 1e-3;
  probed_ = true;
  QueuedRecord* one[] = {&record};
  const auto tokens = static_cast<int64_t>(record.encoding.ids.size());
  std::vector<float> vectors[2];
  for (int i = 0; i < 2; ++i) {
    auto output = run_model(one, i == 0 ? tokens : width);
    if (!output) return {};  // the batch itself will meet the error and name its record
    const bool whole = output->type.shape[1] == 1;
    vectors[i].resize(static_cast<size_t>(output->type.shape[2]));
    pool(*output, {0, whole ? 0 : record.encoding.first_residue, whole ? 1 : record.encoding.num_residues},
         Pooling::kMean, vectors[i]);
  }
  double largest = 0;
  for (size_t c = 0; c < vectors[0].size(); ++c)
    largest =
        std::max(largest, static_cast<double>(std::abs(vectors[0][c] - vectors[1][c])) / (1 + std::abs(vectors[0][c])));
  if (largest <= kTolerated) return {};
  spdlog::warn(
      "padding changes this model's vectors (by {:.2g}), as if its export had lost the mask; only sequences of equal "
      "length share a batch",
      largest);
  options_.limits.equal_lengths = true;
  return {};
}

Status Embedder::run(std::span<QueuedRecord> records, const std::atomic<bool>& stop,
                     const std::function<void(int64_t records, int64_t residues)>& tick) {
  std::vector<QueuedRecord*> able;
  std::vector<int64_t> lengths;
  for (QueuedRecord& record : records) {
    if (record.out.failed) continue;
    able.push_back(&record);
    lengths.push_back(static_cast<int64_t>(record.encoding.ids.size()));
  }
  BatchPlan plan = this->plan(lengths);
  tell_forecast(plan);
  const auto padded = [&](const BatchPlan::Batch& batch) { return lengths[batch.records.back()] < batch.width; };
  const auto first_padded = std::find_if(plan.batches.rbegin(), plan.batches.rend(), padded);
  if (!probed_ && family_.fixed_tokens == 0 && first_padded != plan.batches.rend()) {
    PLICA_CHECK(probe_padding(*able[first_padded->records.back()], first_padded->width));
    plan = this->plan(lengths);
  }
  for (const BatchPlan::Batch& batch : plan.batches) {
    if (stop) return {};
    std::vector<QueuedRecord*> members;
    for (const size_t index : batch.records) members.push_back(able[index]);
    const int64_t before = totals_.num_residues;
    PLICA_CHECK(run_batch(members, batch.width));
    tick(static_cast<int64_t>(members.size()), totals_.num_residues - before);
  }
  return {};
}

}  // namespace plica
