#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/pipeline.h"
#include "ops/step_run.h"
#include "runtime/device/device_context.h"
#include "runtime/exec/memory_plan.h"

namespace plica {

// Where an operand of a step lives. Views share the place of what they look at, with another offset and other strides.
struct Place {
  enum class Kind : uint8_t { kAbsent, kArena, kInput, kOutput, kConstant, kTable };
  Kind kind = Kind::kAbsent;
  int index = 0;             // of the graph's input or output, or of the plan's table
  int64_t offset_bytes = 0;  // of element (0, ..., 0), from the start of that memory
  ConstantPtr constant;      // for kConstant; in memory of the plan's device
  TensorType type;           // with strides
  ConstantPtr base;          // the constant that `constant` is a view of; null: it is none
};

struct Declined {
  std::string_view kernel;
  std::string why;
};

struct Step {
  const OpDef* op = nullptr;
  Attrs attrs;
  const Kernel* kernel = nullptr;
  KernelState state;
  std::vector<Place> in, out;
  int64_t scratch_offset = 0;
  size_t scratch_bytes = 0;
  Cost cost;
  std::string name;  // of the file's node it stems from
  std::vector<Declined> declined;
};

// Whether its kernel may find its data wrong: what reads indices may.
bool can_fault(const Step& step);

// Neighbouring steps that are one launch; each has a kernel of its own too, for when it is timed alone.
struct StepRun {
  const RunKernel* kernel = nullptr;
  size_t first = 0, count = 0;  // steps
  KernelState state;
  std::vector<Place> constants;  // what it reads besides the operands of its steps
  Place own;                     // a table of zeros; kAbsent: none
  int64_t scratch_offset = 0;
  size_t scratch_bytes = 0;

  size_t last() const { return first + count - 1; }
};

std::string to_text(const StepRun& run);  // "steps 12 to 88 are one launch by resident"

// "resident from MatMul 'q' to Attention 'a'"
std::string describe_run(const RunKernel& kernel, const Step& first, const Step& last);

// Everything a run needs, for one signature. Plain data, immutable, shared by sessions.
struct Plan {
  std::vector<Step> steps;
  std::vector<StepRun> runs;                // in order; where work is queued
  std::vector<TensorType> inputs, outputs;  // of the graph, dense
  std::vector<std::string> output_names;
  std::vector<Place> output_places;  // where an output lies when the caller binds no memory for it
  std::vector<Place>
      input_places;  // where copies of the inputs lie, on a device with a queue; kAbsent: nobody reads it
  std::vector<ConstantPtr>
      tables;              // constants made of sizes, in the host's memory: each session copies them to its device
  size_t arena_bytes = 0;  // with the places of unbound outputs and of copied inputs
  size_t inner_bytes = 0;  // of it, where the caller brings all inputs and outputs
  std::vector<Lifetime> lifetimes;                     // of what lies in the arena, scratch of steps and of runs too
  MemoryPlan memory;                                   // where it lies
  size_t weights_bytes = 0;                            // constants that the steps read, derived ones and tables too
  std::vector<std::vector<int>> waits;                 // by step, see find_branches; empty: one by one
  double plan_ms = 0;                                  // specialising, passes and planning
  std::map<std::string, int, std::less<>> structures;  // {"attention": 2, ...}
  std::vector<PassRun> passes;                         // what the graph went through
  DeviceTraits device;
  std::string device_name;  // "cpu", "cuda:0"

  const StepRun* run_of(size_t step) const;  // the run that holds it; null: none

  std::string to_text() const;  // a line a step, one a run, then the memory table
};

// A kernel that an operator has to use wherever it stands.
struct ForcedKernel {
  const OpDef* op = nullptr;
  const Kernel* kernel = nullptr;
};

struct PlanOptions {
  DeviceTraits device = {};
  Precision precision = Precision::kFile;
  std::vector<std::string> skip_passes = {};    // by name, kRuns too
  std::vector<ForcedKernel> kernels = {};       // of several for an operator the last holds; not for a reference plan
  bool reference = false;                       // no fusion, `ref` kernels only: what `verify` compares with
  std::vector<Pass> extra_passes = {};          // run behind the pipeline's own
  std::span<const RunKernel> run_kernels = {};  // asked before the device's own
  size_t memory_limit_bytes = 0;                // of the arena; 0: none. Over it: kOutOfMemory that says what is needed
  std::shared_ptr<DeviceContext> context =
      {};  // of `device`, where its work is queued; null: the plan runs on the host
};

// Fuses, picks kernels and places every tensor. Where that exceeds the memory limit, once more without runs, which keep memory
// longer, and then with the passes that save memory for time. Consumes the graph.
Result<std::shared_ptr<Plan>> make_plan(Graph graph, const PlanOptions& options, ConstantStore& constants);

}  // namespace plica
