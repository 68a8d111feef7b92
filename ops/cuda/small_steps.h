#pragma once

#include "ops/cuda/map_scalar.h"
#include "ops/reduce.h"
#include "ops/step_run.h"

namespace plica::cuda {

// Map and Reduce steps of few elements, as they make masks, counts and factors of tokens, as one launch of one block.
extern const RunKernel small_steps;

constexpr int kSmallSteps = 8, kSmallInputs = 4, kSmallInstructions = 6, kSmallAxes = 4;

struct SmallOperand {
  void* data;
  int32_t stride[kSmallAxes];
  DType dtype;
  uint8_t bytes;  // of an element
};

// An element of `y` is made of one of each input, or of Reduce's range of in[0].
struct SmallStep {
  int32_t count, rank, size[kSmallAxes];  // of y's elements
  SmallOperand y, in[kSmallInputs];
  int32_t range, range_rank, range_size[kSmallAxes], range_stride[kSmallAxes];  // of Reduce
  int64_t constants[kSmallInstructions];
  ScalarStep instructions[kSmallInstructions];
  int8_t num_inputs, num_instructions;
  ops::ReduceKind kind;
  bool is_map;
  int8_t first_warp, num_warps;  // that do it
  bool ends_level;               // the next one may need it
};

struct SmallSteps {
  int num;
  SmallStep step[kSmallSteps];
};
static_assert(sizeof(SmallSteps) <= 4096, "parameters of a kernel");

}  // namespace plica::cuda
