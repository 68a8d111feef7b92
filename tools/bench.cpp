#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "loaders/array/npz.h"
#include "plica/session.h"
#include "runtime/api/session_state.h"
#include "runtime/core/result.h"
#include "tools/bench_runs.h"
#include "tools/command.h"
#include "tools/input_arrays.h"
#include "tools/step_times.h"

namespace plica {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSummary = "Time a model on given arrays: from inputs in memory to outputs in memory.";
constexpr const char* kDetails =
    "  plica bench model.onnx inputs.npz --repeat 20 --threads 1\n"
    "  plica bench model.onnx batch1.npz batch2.npz --repeat 5 --output outputs.npz\n"
    "      several files, whose shapes may differ: one repetition is one pass over all of them\n"
    "  plica bench model.onnx inputs.npz --steps\n"
    "      also the time of every step, and how near it is to the machine's limit\n"
    "\n"
    "  plica bench model.onnx inputs.npz --device cuda:0\n"
    "      inputs and outputs lie on the GPU, whose events time single runs and 100 back to back\n"
    "\n"
    "Some passes warm up. The last line is JSON: \"ms\" (of each repetition), \"cpu_ms\", \"load_ms\" (until the model "
    "is ready),\n"
    "\"first_ms\" (first pass), \"peak_rss_mb\", \"arena_bytes\", \"inner_bytes\" (of it, without inputs and "
    "outputs),\n"
    "\"mapped_bytes\" (what the device has given for the arena), \"weights_bytes\", with --steps \"steps\"; on a GPU "
    "also \"median_ms\",\n"
    "\"back_to_back_ms\" and \"host_us\" (from entry to return of a run).";

// How steps are timed, and what they are measured against.
struct StepBench {
  int repeat = 1;
  bool print = true;
  StepLimit limit;
};

struct BenchArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  int repeat = 10;
  bool stored_edges = false;
  bool steps = false;
  bool json = false;
};

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double peak_rss_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Result<std::vector<Tensor>> read_batch(const std::string& path, const Model& model) {
  PLICA_TRY(const TensorMap arrays, read_inputs(path, model.inputs()));
  return in_order(arrays, model.inputs()).context("reading '" + path + "'");
}

// Of one more run, into memory of the host.
Status write_outputs(const std::string& path, Session& session) {
  for (size_t i = 0; i < session.state().outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, {}));
  PLICA_CHECK(session.run());
  PLICA_TRY(NpzWriter writer, NpzWriter::create(path));
  for (size_t i = 0; i < session.outputs().size(); ++i)
    PLICA_CHECK(writer.add(std::to_string(i), session.outputs()[i]));
  return writer.commit();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void print_summary(const BenchTimes& times) {
  const auto [least, most] = std::minmax_element(times.ms.begin(), times.ms.end());
  std::printf("%zu repetitions: min %.4f ms, median %.4f ms, max %.4f ms\n", times.ms.size(), *least, median(times.ms),
              *most);
  if (!times.host_us.empty())
    std::printf("back to back: %.4f ms each; the host is busy for %.1f us a run\n", times.back_to_back_ms,
                median(times.host_us));
}

// Times of the steps of one batch, the median of a few runs.
Result<ordered_json> time_steps(Session& session, const std::vector<Tensor>& batch, const StepBench& how) {
  for (size_t i = 0; i < batch.size(); ++i) PLICA_CHECK(session.bind(i, batch[i].view()));
  PLICA_CHECK(session.run());
  const Plan& plan = *session.state().planned->plan;
  std::vector<std::vector<double>> runs(static_cast<size_t>(how.repeat), std::vector<double>(plan.steps.size()));
  for (std::vector<double>& run : runs) PLICA_CHECK(session.state().run(run));
  const std::vector<double> ms = median_times(runs);
  if (how.print) std::printf("%s", step_table(plan, ms, how.limit).c_str());
  return step_rows(plan, ms, how.limit);
}

Result<int> bench(const BenchArguments& arguments, const CommonOptions& common) {
  PLICA_CHECK(check_output_path(arguments.output, {arguments.model}));
  PLICA_CHECK(check_output_path(arguments.output, arguments.inputs));
  const double start = wall_ms();
  LoadOptions options = common.load_options();
  options.stored_edges = arguments.stored_edges;
  PLICA_TRY(const Model model, Model::load(arguments.model, std::move(options)));
  PLICA_TRY(Session session, model.session());
  ordered_json line;
  line["load_ms"] = wall_ms() - start;
  std::vector<std::vector<Tensor>> batches;
  for (const std::string& path : arguments.inputs) {
    PLICA_TRY(auto batch, read_batch(path, model));
    batches.push_back(std::move(batch));
  }
  PLICA_TRY(const BenchTimes times, time_runs(session, batches, arguments.repeat));
  if (!arguments.output.empty()) PLICA_CHECK(write_outputs(arguments.output, session));
  const bool on_host = model.state()->context->traits().device == Device::kCpu;
  if (arguments.steps) {
    const StepBench how{on_host ? arguments.repeat : std::min(arguments.repeat, 3), !arguments.json,
                        machine_limit(*model.state()->context, model.state()->options.precision)};
    for (size_t i = 0; i < batches.size(); ++i) {
      if (how.print) std::printf("%s\n", arguments.inputs[i].c_str());
      PLICA_TRY(ordered_json rows, time_steps(session, batches[i], how));
      line["steps"].push_back(std::move(rows));
    }
  }
  if (!arguments.json) print_summary(times);
  const Plan& plan = *session.state().planned->plan;
  line["first_ms"] = times.first_ms;
  line["ms"] = times.ms;
  line["cpu_ms"] = times.cpu_ms;
  line["peak_rss_mb"] = peak_rss_mb();
  line["device"] = plan.device_name;
  line["arena_bytes"] = plan.arena_bytes;
  line["inner_bytes"] = plan.inner_bytes;
  line["mapped_bytes"] = times.mapped_bytes;
  line["weights_bytes"] = plan.weights_bytes;
  if (!on_host) {
    line["median_ms"] = median(times.ms);
    line["back_to_back_ms"] = times.back_to_back_ms;
    line["host_us"] = median(times.host_us);
    const GraphNodes& nodes = times.graph_nodes;
    line["graph_nodes"] = {
        {"kernels", nodes.kernels}, {"copies", nodes.copies}, {"clears", nodes.clears}, {"others", nodes.others}};
  }
  std::printf("%s\n", line.dump().c_str());
  return kDone;
}

}  // namespace

Command add_bench(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* app = add_command(program, "bench", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  app->add_option("INPUT", arguments->inputs, ".npz files with an array for each input, or folders with input_N.pb")
      ->required();
  app->add_option("--repeat", arguments->repeat, "How often")->check(at_least(1))->capture_default_str();
  app->add_option("--output", arguments->output,
                  "Write the last outputs, in order, as arrays 0, 1 ... of this .npz file");
  app->add_flag("--stored-edges", arguments->stored_edges,
                "Inputs and outputs are floats as --precision stores them, not as the file declares them");
  app->add_flag("--steps", arguments->steps, "Also the time of each step, and how near it is to the machine's limit");
  app->add_flag("--json", arguments->json, "Print the JSON line only");
  return {app, [arguments, &common] { return exit_code_of([&] { return bench(*arguments, common); }); }};
}

}  // namespace plica
