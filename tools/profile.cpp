#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "loaders/file/output_file.h"
#include "plica/session.h"
#include "runtime/api/session_state.h"
#include "runtime/core/result.h"
#include "runtime/exec/branches.h"
#include "tools/command.h"
#include "tools/given_inputs.h"

namespace plica {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSummary = "Write when each step of a run begins and ends, as a trace that a browser shows.";
constexpr const char* kDetails =
    "  plica profile esm2.onnx --shape input_ids=1x512 --device cuda:0 -o trace.json\n"
    "      open trace.json in chrome://tracing or ui.perfetto.dev\n"
    "\n"
    "A row is a stream (on the CPU: the calling thread), a bar a step with its operator, kernel, node and shapes, or a "
    "run of\n"
    "steps that are one launch. "
    "Steps that\n"
    "may run side by side stand in different rows.";

struct ProfileArguments {
  std::string model;
  InputArguments inputs;
  std::string output;
};

ordered_json event_of(const std::string& name, int row, double begin_ms, double end_ms, ordered_json details) {
  return {{"name", name},
          {"cat", "step"},
          {"ph", "X"},
          {"ts", 1e3 * begin_ms},
          {"dur", 1e3 * (end_ms - begin_ms)},
          {"pid", 0},
          {"tid", row},
          {"args", std::move(details)}};
}

ordered_json event_of(const Step& step, int row, double begin_ms, double end_ms) {
  std::string shapes;
  for (const Place& place : step.out) shapes += (shapes.empty() ? "" : ", ") + to_string(place.type);
  return event_of(std::string(step.op->name) + "." + std::string(step.kernel->name), row, begin_ms, end_ms,
                  {{"node", step.name}, {"results", shapes}, {"bytes", step.cost.bytes}, {"flops", step.cost.flops}});
}

ordered_json event_of(const Plan& plan, const StepRun& run, int row, double begin_ms, double end_ms) {
  Cost cost;
  for (size_t i = run.first; i <= run.last(); ++i) {
    cost.bytes += plan.steps[i].cost.bytes;
    cost.flops += plan.steps[i].cost.flops;
  }
  return event_of(std::string(run.kernel->name), row, begin_ms, end_ms,
                  {{"steps", describe_run(*run.kernel, plan.steps[run.first], plan.steps[run.last()])},
                   {"first", run.first},
                   {"last", run.last()},
                   {"bytes", cost.bytes},
                   {"flops", cost.flops}});
}

ordered_json name_of_row(const char* kind, int row, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", 0}, {"tid", row}, {"args", {{"name", name}}}};
}

std::string trace_text(const Plan& plan, const std::vector<double>& times) {
  ordered_json events = {name_of_row("process_name", 0, plan.device_name)};
  const std::vector<int> rows = rows_of(plan.waits, plan.steps.size());
  const int num_rows = rows.empty() ? 1 : 1 + *std::max_element(rows.begin(), rows.end());
  for (int row = 0; row < num_rows; ++row)
    events.push_back(name_of_row("thread_name", row, "stream " + std::to_string(row)));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const StepRun* run = plan.run_of(i);
    if (run == nullptr) events.push_back(event_of(plan.steps[i], rows[i], times[2 * i], times[2 * i + 1]));
    if (run != nullptr && run->first == i)
      events.push_back(event_of(plan, *run, rows[i], times[2 * i], times[2 * i + 1]));
  }
  const ordered_json root = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
  return root.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<int> profile(const ProfileArguments& arguments, const CommonOptions& common) {
  PLICA_CHECK(check_output_path(arguments.output, {arguments.model, arguments.inputs.inputs}));
  PLICA_TRY(const Model model, Model::load(arguments.model, common.load_options()));
  PLICA_TRY(const std::vector<Tensor> inputs, given_inputs(model, arguments.inputs));
  PLICA_TRY(Session session, model.session());
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i].view()));
  PLICA_CHECK(session.run());
  const Plan& plan = *session.state().planned->plan;
  std::vector<double> times(2 * plan.steps.size());
  PLICA_CHECK(session.state().trace(times));
  PLICA_CHECK(write_file(arguments.output, trace_text(plan, times)));
  std::printf("%zu steps in %.3f ms on %s\n", plan.steps.size(),
              times.empty() ? 0 : *std::max_element(times.begin(), times.end()), plan.device_name.c_str());
  return kDone;
}

}  // namespace

Command add_profile(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<ProfileArguments>();
  CLI::App* app = add_command(program, "profile", kSummary, kDetails);
  app->add_option("MODEL", arguments->model, "ONNX file")->required();
  add_input_options(*app, arguments->inputs);
  app->add_option("-o,--out", arguments->output, "The .json file to write")->required();
  return {app, [arguments, &common] { return exit_code_of([&] { return profile(*arguments, common); }); }};
}

}  // namespace plica
