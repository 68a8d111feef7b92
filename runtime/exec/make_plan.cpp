#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "graph/pipeline.h"
#include "ops/step_run.h"
#include "runtime/core/shape.h"
#include "runtime/exec/branches.h"
#include "runtime/exec/draft.h"
#include "runtime/exec/lifetimes.h"
#include "runtime/exec/plan.h"
#include "runtime/exec/scheduler.h"
#include "runtime/exec/step_runs.h"
#include "runtime/exec/team_size.h"
#include "runtime/exec/upload.h"

namespace plica {
namespace {

using Kind = Place::Kind;

// Buffer numbers become places in the arena, in a graph's input or in its output.
void place_steps(const std::vector<Buffer>& buffers, const MemoryPlan& memory, Plan& plan) {
  const auto settle = [&](Place& place) {
    if (place.kind == Kind::kAbsent || place.kind == Kind::kConstant) return;
    const auto idx = static_cast<size_t>(place.index);
    place.kind = buffers[idx].kind;
    place.index = buffers[idx].index;
    if (place.kind == Kind::kArena) place.offset_bytes += static_cast<int64_t>(memory.offsets[idx]);
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Step& step = plan.steps[i];
    for (Place& place : step.in) settle(place);
    for (Place& place : step.out) settle(place);
    step.scratch_offset = static_cast<int64_t>(memory.offsets[buffers.size() + i]);
  }
  for (size_t i = 0; i < plan.runs.size(); ++i)
    plan.runs[i].scratch_offset = static_cast<int64_t>(memory.offsets[buffers.size() + plan.steps.size() + i]);
  plan.input_places.resize(plan.inputs.size());
  plan.output_places.resize(plan.outputs.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto port = static_cast<size_t>(buffers[i].index);
    const auto place = [&](const TensorType& type) {
      return Place{Kind::kArena, 0, static_cast<int64_t>(memory.offsets[i]), nullptr, type, nullptr};
    };
    if (buffers[i].kind == Kind::kOutput) plan.output_places[port] = place(plan.outputs[port]);
    if (buffers[i].kind == Kind::kInput && plan.lifetimes[i].bytes > 0)
      plan.input_places[port] = place(plan.inputs[port]);
  }
}

// Of what the steps read in the host's memory.
size_t weights_bytes(const Plan& plan) {
  std::unordered_set<const void*> seen;
  size_t bytes = 0;
  for (const Step& step : plan.steps)
    for (const Place& place : step.in) {
      if (place.kind != Kind::kConstant) continue;
      const Constant& constant = *place.constant;
      const bool is_new = seen.insert(constant.data != nullptr ? constant.data : &constant).second;
      if (is_new) bytes += num_bytes(place.type);
    }
  return bytes;
}

Status check_limit(const Plan& plan, size_t limit) {
  if (limit == 0 || plan.arena_bytes <= limit) return {};
  return Error(Code::kOutOfMemory, "the arena needs " + std::to_string(plan.arena_bytes) +
                                       " bytes, the memory limit is " + std::to_string(limit));
}

bool may_have_runs(const PlanOptions& options) {
  const auto& skip = options.skip_passes;
  return !options.reference && std::find(skip.begin(), skip.end(), kRuns) == skip.end();
}

Result<std::shared_ptr<Plan>> plan_graph(Graph graph, const PlanOptions& options, bool save_memory,
                                         ConstantStore& constants) {
  const auto start = std::chrono::steady_clock::now();
  const TeamSize team(options.device.num_threads);
  const DeviceScope scope(options.context.get());
  const PipelineOptions passes{.device = options.device.device,
                               .compute_capability = options.device.compute_capability,
                               .skip = options.skip_passes,
                               .reference = options.reference,
                               .precision = options.precision,
                               .save_memory = save_memory,
                               .extra = options.extra_passes};
  PLICA_TRY(PassReport report, run_pipeline(graph, passes, constants));
  const std::vector<NodeId> order = schedule(graph);
  PLICA_TRY(Draft draft, draft_steps(graph, order, options, constants));

  auto plan = std::make_shared<Plan>();
  if (may_have_runs(options) && !save_memory) {
    PLICA_TRY(plan->runs, join_steps(draft, options, constants));
  }
  for (ValueId id : graph.inputs()) plan->inputs.push_back(graph.type(id));
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    plan->outputs.push_back(graph.type(graph.outputs()[i]));
    plan->output_names.push_back(graph.output_name(i));
  }
  plan->passes = std::move(report.passes);
  plan->structures = std::move(report.structures);
  plan->device = options.device;
  plan->device_name = options.context != nullptr ? options.context->name() : "cpu";
  plan->lifetimes = lifetimes_of(draft, plan->runs, options.context != nullptr);
  plan->memory = plan_memory(plan->lifetimes, options.context != nullptr);
  plan->arena_bytes = plan->memory.arena_bytes;
  plan->inner_bytes = plan->memory.inner_bytes;
  PLICA_CHECK(check_limit(*plan, options.memory_limit_bytes));
  plan->steps = std::move(draft.steps);
  place_steps(draft.buffers, plan->memory, *plan);
  plan->weights_bytes = weights_bytes(*plan);
  if (options.context != nullptr) {
    PLICA_TRY(plan->weights_bytes, upload_constants(*plan, *options.context, constants));
    plan->waits = find_branches(*plan, options.context->limits());
  }
  plan->plan_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace

Result<std::shared_ptr<Plan>> make_plan(Graph graph, const PlanOptions& options, ConstantStore& constants) {
  if (options.memory_limit_bytes == 0) return plan_graph(std::move(graph), options, false, constants);
  auto plan = plan_graph(graph, options, false, constants);
  if (plan || plan.error().code() != Code::kOutOfMemory) return plan;
  if (may_have_runs(options) && !(options.run_kernels.empty() && run_kernels(options.device.device).empty())) {
    PlanOptions alone = options;
    alone.skip_passes.emplace_back(kRuns);
    plan = plan_graph(graph, alone, false, constants);
    if (plan || plan.error().code() != Code::kOutOfMemory) return plan;
  }
  return plan_graph(std::move(graph), options, true, constants);
}

}  // namespace plica
