#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "loaders/fasta/fasta.h"
#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/embedder.h"
#include "tools/progress.h"
#include "tools/stop_signal.h"
#include "tools/vector_writer.h"

namespace plica {
namespace {

constexpr const char* kSummary = "Turn the proteins of a FASTA file into vectors.";
constexpr const char* kDetails =
    "  plica embed esm2.onnx proteins.fasta -o vectors.npz\n"
    "      the mean over the residues of each protein, an array under its id: "
    "np.load('vectors.npz')['sp|P01308|INS_HUMAN']\n"
    "  plica embed esm2.onnx proteins.fasta.gz -o vectors.npy --pool mean,max\n"
    "      matrices vectors.mean.npy and vectors.max.npy; index.tsv beside them tells which row is which protein\n"
    "  zcat part*.gz | plica embed esm2.onnx - -o residues.npz --per-residue\n"
    "      for each protein a matrix of residues x columns\n"
    "\n"
    "The alphabet comes from --family, else from vocab.txt or tokenizer.json beside the model, else from a guess that "
    "is\n"
    "told. Proteins run in batches of like length and are written in their original order. One that cannot be embedded "
    "is\n"
    "listed in failed.tsv beside the output, and the others are done. Exit code: 0 all, 1 some, 2 none embedded.";

struct EmbedArguments {
  std::string model;
  std::string fasta;
  std::string output;
  std::string pool;
  bool per_residue = false;
  std::string family;
  std::string alphabet;
  std::string mask;
  std::string output_name;
  int64_t layer = -1;
  std::string unknown = "x";
  int64_t max_tokens = 4096;
  int64_t max_batch = 0;
};

Result<std::vector<Pooling>> parse_poolings(const EmbedArguments& arguments) {
  std::string text = arguments.pool;
  if (text.empty() && !arguments.per_residue) text = "mean";
  std::vector<Pooling> poolings;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const auto pooling = parse_pooling(text.substr(at, end - at));
    if (!pooling)
      return Error(Code::kInvalidInput,
                   "--pool " + arguments.pool + ": '" + text.substr(at, end - at) + "' is none of mean, max, sum, cls");
    if (std::find(poolings.begin(), poolings.end(), *pooling) != poolings.end())
      return Error(Code::kInvalidInput,
                   "--pool " + arguments.pool + " names " + std::string(name_of(*pooling)) + " twice");
    poolings.push_back(*pooling);
    at = end + 1;
  }
  return poolings;
}

Result<EmbedderOptions> options_of(const EmbedArguments& arguments, const CommonOptions& common) {
  EmbedderOptions options;
  options.load = common.load_options();
  options.family.model_path = arguments.model;
  options.family.family = arguments.family;
  options.family.alphabet = arguments.alphabet;
  options.family.output = arguments.output_name;
  options.family.mask = parse_mask_role(arguments.mask);
  if (arguments.layer >= 0) options.family.layer = arguments.layer;
  options.limits = {.max_tokens = arguments.max_tokens, .max_records = arguments.max_batch};
  options.per_residue = arguments.per_residue;
  PLICA_TRY(options.poolings, parse_poolings(arguments));
  return options;
}

// The next records, as many as are planned and kept in memory together. Empty at the end of the file; `broken` is set where the
// file cannot be read on, by a signal too.
std::vector<QueuedRecord> read_window(FastaReader& reader, const Embedder& embedder, const VectorWriter& writer,
                                      const EmbedArguments& arguments, std::optional<Error>& broken) {
  constexpr size_t kRecords = 8192;
  const int64_t tokens = arguments.per_residue ? int64_t{1} << 16 : int64_t{1} << 21;
  const UnknownPolicy unknown = *parse_unknown_policy(arguments.unknown);
  std::vector<QueuedRecord> window;
  for (int64_t have = 0; window.size() < kRecords && have < tokens;) {
    auto next = reader.next();
    if (!next) broken = next.error();
    if (!next || !*next) break;
    FastaItem& item = **next;
    QueuedRecord record;
    if (item.error) {
      record.out.failed = item.error->what();
    } else if (auto problem = writer.problem_of(item.record.id)) {
      record.out.failed = std::move(problem);
    } else {
      record = embedder.queue(item.record.sequence, unknown);
    }
    record.out.id = std::move(item.record.id);
    record.out.line = item.record.line;
    have += static_cast<int64_t>(record.encoding.ids.size());
    window.push_back(std::move(record));
  }
  return window;
}

// Residues of a whole file, to tell how much time is left; nothing for standard input.
std::optional<int64_t> count_residues(const std::string& path, int stop) {
  if (path == "-" || !Progress::visible()) return std::nullopt;
  auto reader = FastaReader::open(path, stop);
  int64_t total = 0;
  while (reader) {
    auto item = reader->next();
    if (!item) return std::nullopt;
    if (!*item) return total;
    total += static_cast<int64_t>((*item)->record.sequence.size());
  }
  return std::nullopt;
}

std::string shown(const std::string& id) {
  constexpr size_t kMost = 100;
  return id.size() <= kMost ? id : id.substr(0, kMost) + "...";
}

Status write_window(std::vector<QueuedRecord>& window, VectorWriter& writer) {
  constexpr int64_t kTold = 10;
  for (QueuedRecord& record : window) {
    if (!record.done && !record.out.failed) {
      record.out.failed = "stopped before its turn";
    } else if (record.out.failed && writer.num_failed() < kTold) {
      spdlog::warn("line {}, record '{}': {}", record.out.line, shown(record.out.id), *record.out.failed);
    } else if (record.out.failed && writer.num_failed() == kTold) {
      spdlog::warn("more records failed; failed.tsv lists them all");
    }
    PLICA_CHECK(writer.add(record.out));
  }
  return {};
}

void tell_summary(const Embedder& embedder, const VectorWriter& writer, int64_t num_unknown, double seconds) {
  const EmbedTotals& totals = embedder.totals();
  const double batches = static_cast<double>(std::max<int64_t>(totals.num_batches, 1));
  const double padded = static_cast<double>(std::max<int64_t>(totals.num_padded_tokens, 1));
  if (num_unknown > 0)
    spdlog::warn("{} residues are no letters of the alphabet and were replaced (--unknown)", num_unknown);
  spdlog::info(
      "{} of {} records, {} residues in {:.1f} s: {:.0f} residues/s; {} batches, mean batch {:.1f} records, padding "
      "waste {:.1f} %",
      writer.num_done(), writer.num_done() + writer.num_failed(), totals.num_residues, seconds,
      static_cast<double>(totals.num_residues) / seconds, totals.num_batches,
      static_cast<double>(totals.num_records) / batches,
      100.0 * (padded - static_cast<double>(totals.num_tokens)) / padded);
}

Result<int> embed(const EmbedArguments& arguments, const CommonOptions& common) {
  PLICA_CHECK(check_output_path(arguments.output, {arguments.model, arguments.fasta}));
  PLICA_TRY(const EmbedderOptions options, options_of(arguments, common));
  const StopSignal stop;
  PLICA_TRY(FastaReader reader, FastaReader::open(arguments.fasta, stop.descriptor()));
  PLICA_TRY(VectorWriter writer, VectorWriter::create({arguments.output, options.poolings, options.per_residue}));
  PLICA_TRY(Embedder embedder, Embedder::create(options));
  Progress progress(count_residues(arguments.fasta, stop.descriptor()));
  int64_t num_unknown = 0;
  const auto tick = [&](int64_t records, int64_t residues) { progress.add(records, residues); };
  std::optional<Error> broken;
  while (!stop.requested() && !broken) {
    auto window = read_window(reader, embedder, writer, arguments, broken);
    if (window.empty()) break;
    PLICA_CHECK(embedder.run(window, stop.requested(), tick));
    for (const QueuedRecord& record : window) num_unknown += record.encoding.num_unknown;
    PLICA_CHECK(write_window(window, writer));
  }
  if (stop.requested()) spdlog::warn("stopped by a signal; what was done is written");
  if (broken && writer.num_done() == 0) return *std::move(broken);
  if (broken && !stop.requested()) spdlog::error("{}; the records before are written", to_string(*broken));
  if (writer.num_done() + writer.num_failed() == 0 && !stop.requested())
    return Error(Code::kInvalidInput,
                 "'" + arguments.fasta + "' holds no records; wanted: FASTA, '>' and an id, then residues");
  tell_summary(embedder, writer, num_unknown, progress.seconds());
  PLICA_CHECK(writer.commit());
  if (writer.num_done() == 0) return kNothingDone;
  return writer.num_failed() > 0 || stop.requested() || broken ? kPartly : kDone;
}

}  // namespace

Command add_embed(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<EmbedArguments>();
  CLI::App* app = add_command(program, "embed", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file of a protein language model")->required();
  app->add_option("FASTA", arguments->fasta, "Sequences: a FASTA file, plain or gzip, or - for standard input")
      ->required();
  app->add_option("-o,--out", arguments->output, "What to write: .npz, or .npy for one matrix")->required();
  app->add_option("--pool", arguments->pool,
                  "How residues become one vector: mean, max, sum, cls, or several with commas [mean]");
  app->add_flag("--per-residue", arguments->per_residue, "Write the vectors of all residues (.npz)");
  app->add_option("--family", arguments->family, "Kind of model: esm2, esm1b, protbert, prott5, antiberty");
  app->add_option("--alphabet", arguments->alphabet,
                  "Its alphabet, where it is not the family's: a name, vocab.txt or tokenizer.json");
  app->add_option("--output", arguments->output_name, "Name of the model's output that holds the vectors");
  app->add_option("--layer", arguments->layer, "Number of the layer whose output is taken")->check(at_least(0));
  app->add_option("--mask", arguments->mask,
                  "Meaning of the mask input: one (1 = residue), additive, keep (true = residue), padding")
      ->check(CLI::IsMember({"one", "additive", "keep", "padding"}));
  app->add_option("--unknown", arguments->unknown, "What letters become that the alphabet lacks: x, unk, or error")
      ->check(CLI::IsMember({"x", "unk", "error"}))
      ->capture_default_str();
  app->add_option("--max-tokens", arguments->max_tokens, "Tokens of a batch, padding included")
      ->check(at_least(1))
      ->capture_default_str();
  app->add_option("--max-batch", arguments->max_batch, "Records of a batch; 0: any number")
      ->check(at_least(0))
      ->capture_default_str();
  return {app, [arguments, &common] { return exit_code_of([&] { return embed(*arguments, common); }); }};
}

}  // namespace plica
