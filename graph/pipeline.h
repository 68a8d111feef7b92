#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/structures.h"
#include "plica/device.h"

namespace plica {

struct PipelineOptions;

// A pass edits the graph (through patches) and says how many edits it made.
struct Pass {
  std::string_view name;
  Result<int> (*run)(Graph& graph, ConstantStore& constants);
  bool required = false;              // kernels exist only for what it leaves behind: has no off switch
  std::optional<Device> device = {};  // it runs for this one alone, with `precision`
  Precision precision = Precision::kFile;
  bool (*when)(const PipelineOptions&) = nullptr;  // it runs where this is so; null: always
};

std::span<const Pass> pipeline();  // in the order in which they run

// The pass that stores values as a precision wants them, which run_pipeline adds; null for kFile.
const Pass* storing_pass(Precision precision);

// A name that may be skipped like a pass: no steps of the plan become one launch.
inline constexpr std::string_view kRuns = "runs";

struct PipelineOptions {
  Device device = Device::kCpu;
  int compute_capability = 0;     // 90 for Hopper; 0 on the CPU
  std::vector<std::string> skip;  // names of passes, kRuns too
  bool reference = false;         // required passes alone, in the file's own types
  Precision precision = Precision::kFile;
  bool save_memory = false;                             // at the price of time
  std::function<void(const Pass&, Graph&)> watch = {};  // called behind each pass that ran; leaves the graph as it is
  std::vector<Pass> extra;  // run behind all others, but for a reference: an application's own, or a planted fault
#ifdef NDEBUG
  bool verify = false;  // Graph::verify() after each pass
#else
  bool verify = true;
#endif
};

struct PassRun {
  std::string_view name;
  bool skipped = false;
  int num_edits = 0;
  double ms = 0;
};

struct PassReport {
  std::vector<PassRun> passes;
  StructureSums structures;  // each once, however many tiles it is computed in
  double ms = 0;
};

// Turns what a loader lowered into what the planner places: fused, weights folded, element-wise chains made programs.
// kInvalidInput where `skip` names no pass that may be left out.
Result<PassReport> run_pipeline(Graph& graph, const PipelineOptions& options, ConstantStore& constants);

}  // namespace plica
