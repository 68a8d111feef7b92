#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "loaders/array/npz.h"
#include "plica/session.h"
#include "runtime/api/session_state.h"
#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/input_arrays.h"
#include "tools/step_times.h"

namespace plica {
namespace {

constexpr const char* kSummary = "Time a model on given arrays: from inputs in memory to outputs in memory.";
constexpr const char* kDetails =
    "  plica bench model.onnx inputs.npz --repeat 20 --threads 1\n"
    "  plica bench model.onnx batch1.npz batch2.npz --repeat 5 --output outputs.npz\n"
    "      several files, whose shapes may differ: one repetition is one pass over all of them\n"
    "  plica bench model.onnx inputs.npz --steps\n"
    "      also the time of every step, and how near it is to the machine's limit\n"
    "\n"
    "One pass warms up. The last line is JSON: \"ms\" (of each repetition), \"cpu_ms\", \"load_ms\" (until the model "
    "is ready),\n"
    "\"first_ms\" (first pass) and \"peak_rss_mb\".";

struct BenchArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  int repeat = 10;
  bool steps = false;
  bool json = false;
};

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double peak_rss_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// One pass over all batches; `batches` hold the inputs in the model's order.
Status pass(Session& session, const std::vector<std::vector<Tensor>>& batches) {
  for (const std::vector<Tensor>& batch : batches) {
    for (size_t i = 0; i < batch.size(); ++i) PLICA_CHECK(session.bind(i, batch[i].view()));
    PLICA_CHECK(session.run());
  }
  return {};
}

Result<std::vector<Tensor>> read_batch(const std::string& path, const Model& model) {
  PLICA_TRY(const TensorMap arrays, read_inputs(path, model.inputs()));
  return in_order(arrays, model.inputs()).context("reading '" + path + "'");
}

Status write_outputs(const std::string& path, const Session& session) {
  PLICA_TRY(NpzWriter writer, NpzWriter::create(path));
  for (size_t i = 0; i < session.outputs().size(); ++i)
    PLICA_CHECK(writer.add(std::to_string(i), session.outputs()[i]));
  return writer.commit();
}

void print_summary(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  std::printf("%zu repetitions: min %.3f ms, median %.3f ms, max %.3f ms\n", ms.size(), ms.front(), ms[ms.size() / 2],
              ms.back());
}

// The table of the steps of one batch, from as many timed runs as there are repetitions.
Result<std::string> time_steps(Session& session, const std::vector<Tensor>& batch, int repeat) {
  for (size_t i = 0; i < batch.size(); ++i) PLICA_CHECK(session.bind(i, batch[i].view()));
  PLICA_CHECK(session.run());
  const Plan& plan = *session.state().planned->plan;
  std::vector<std::vector<double>> runs(static_cast<size_t>(repeat), std::vector<double>(plan.steps.size()));
  for (std::vector<double>& run : runs) PLICA_CHECK(session.state().run(run));
  return step_table(plan, median_times(runs), measure_machine(plan.device.num_threads));
}

Result<int> bench(const BenchArguments& arguments, const CommonOptions& common) {
  const double start = wall_ms();
  PLICA_TRY(const Model model, Model::load(arguments.model, common.load_options()));
  PLICA_TRY(Session session, model.session());
  nlohmann::ordered_json line;
  line["load_ms"] = wall_ms() - start;
  std::vector<std::vector<Tensor>> batches;
  for (const std::string& path : arguments.inputs) {
    PLICA_TRY(auto batch, read_batch(path, model));
    batches.push_back(std::move(batch));
  }
  const double before_first = wall_ms();
  PLICA_CHECK(pass(session, batches));
  line["first_ms"] = wall_ms() - before_first;
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int i = 0; i < arguments.repeat; ++i) {
    const double wall_start = wall_ms();
    const double cpu_start = cpu_ms();
    PLICA_CHECK(pass(session, batches));
    wall.push_back(wall_ms() - wall_start);
    cpu.push_back(cpu_ms() - cpu_start);
  }
  if (!arguments.output.empty()) PLICA_CHECK(write_outputs(arguments.output, session));
  for (size_t i = 0; arguments.steps && i < batches.size(); ++i) {
    PLICA_TRY(const std::string table, time_steps(session, batches[i], arguments.repeat));
    std::printf("%s\n%s", arguments.inputs[i].c_str(), table.c_str());
  }
  if (!arguments.json) print_summary(wall);
  line["ms"] = wall;
  line["cpu_ms"] = cpu;
  line["peak_rss_mb"] = peak_rss_mb();
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
  app->add_option("--repeat", arguments->repeat, "How often")->check(CLI::PositiveNumber)->capture_default_str();
  app->add_option("--output", arguments->output,
                  "Write the last outputs, in order, as arrays 0, 1 ... of this .npz file");
  app->add_flag("--steps", arguments->steps, "Also the time of each step, and how near it is to the machine's limit");
  app->add_flag("--json", arguments->json, "Print the JSON line only");
  return {app, [arguments, &common] { return exit_code_of([&] { return bench(*arguments, common); }); }};
}

}  // namespace plica
