#pragma once

#include "ops/op.h"

namespace plica {

// A part of memory that steps outside a run read: all of a result that is an output.
struct OutsideRead {
  const TensorType* type = nullptr;  // with strides
  int64_t offset_bytes = 0;          // where in the memory element (0, ..., 0) lies
};

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
  std::vector<bool> given;                        // by operand: an input of the model
  std::vector<bool> inner;                        // by result: neither read outside the run nor an output
  std::vector<std::vector<OutsideRead>> outside;  // by result: what of its memory is read outside the run
  const Kernel* kernel = nullptr;                 // that the step has alone
};

// What a run kernel makes at plan time.
struct RunParts {
  KernelState state;
  std::vector<ConstantPtr> constants;  // of the store; each launch is given them where the plan's device has them
  size_t own_bytes = 0;  // of memory of its own in each session: zeros at first, then as the last launch left it
};

struct RunArgs {
  std::span<const KernelArgs> steps;  // each step's arguments are those of its own kernel, its state and scratch too
  std::span<const TensorView> constants;
  const void* state = nullptr;
  void* scratch = nullptr;
  void* own = nullptr;
  void* stream = nullptr;
};

// One implementation of several neighbouring steps in one launch, in place of a kernel for each.
struct RunKernel {
  std::string_view name;
  // Whether a run may hold this step: where it does not, steps that need nothing of the run are moved ahead of it.
  bool (*knows)(const RunStep& step) = nullptr;
  // Whether its runs may have steps that read inputs of the model, which lie elsewhere at every call, or integers: what it prepares
  // does not hang on where operands lie, and those that it knows find no faults in what they read.
  bool reads_inputs = false;
  // How many of these steps, from the first on, become one launch; 0: none, or it does not pay. It is asked again with the steps
  // that it took, as `inner` depends on them.
  size_t (*takes)(std::span<const RunStep> steps) = nullptr;
  size_t (*scratch_bytes)(std::span<const RunStep> steps) = nullptr;                                // null: none
  Result<RunParts> (*prepare)(std::span<const RunStep> steps, ConstantStore& constants) = nullptr;  // null: nothing
  void (*run)(const RunArgs& args) = nullptr;  // enqueues; never allocates, never syncs
};

// A run may do parts of a step up to so many steps behind the step's place: memory is kept for as long.
constexpr int kRunLag = 2;

std::span<const RunKernel> run_kernels(Device device);  // in order of preference; empty where the backend has none

// Of a build with CUDA.
extern const std::span<const RunKernel> run_cuda_kernels;

}  // namespace plica
