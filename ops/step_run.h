#pragma once

#include "ops/op.h"

namespace plica {

// One of several neighbouring steps of a plan, as a run kernel sees it at plan time. Its pointers hold for as long as the plan
// is made, `kernel` for ever.
struct RunStep {
  const OpDef* op = nullptr;
  const void* attrs = nullptr;
  Case c;
  // Numbers of the memory in which operands lie (views share it, and a step may write over what one before it read); -1: absent, or
  // a constant. And where in it element (0, ..., 0) lies.
  std::vector<int> in, out;
  std::vector<int64_t> in_offset_bytes, out_offset_bytes;
  std::vector<bool> inner;         // by result: neither read outside the run nor an output
  const Kernel* kernel = nullptr;  // that the step has alone
};

// One implementation of several neighbouring steps in one launch, in place of a kernel for each.
struct RunKernel {
  std::string_view name;
  // Whether a run may hold this step: where it does not, steps that need nothing of the run are moved ahead of it.
  bool (*knows)(const RunStep& step) = nullptr;
  // How many of these steps, from the first on, become one launch; 0: none, or it does not pay. It is asked again with the steps
  // that it took, as `inner` depends on them.
  size_t (*takes)(std::span<const RunStep> steps) = nullptr;
  size_t (*scratch_bytes)(std::span<const RunStep> steps) = nullptr;         // null: none
  Result<KernelState> (*prepare)(std::span<const RunStep> steps) = nullptr;  // null: no state
  // Enqueues; never allocates, never syncs. Each step's arguments are those of its own kernel, its state and scratch too.
  void (*run)(const void* state, std::span<const KernelArgs> steps, void* scratch, void* stream) = nullptr;
};

// A run may do parts of a step up to so many steps behind the step's place: memory is kept for as long.
constexpr int kRunLag = 2;

std::span<const RunKernel> run_kernels(Device device);  // in order of preference; empty where the backend has none

// Of a build with CUDA.
extern const std::span<const RunKernel> run_cuda_kernels;

}  // namespace plica
