#pragma once

#include <array>
#include <cstdint>

#include "ops/attention.h"
#include "ops/step_run.h"

namespace plica::cuda::attention {

// Attention of few short sequences in 16 bits together with the Rotary steps that turn its queries and keys, as one launch.
extern const RunKernel turned_attention;

// A tensor (batch, heads, rows, width), its last axis contiguous; a step is elements from one index to the next.
struct TurnedHeads {
  const void* data = nullptr;  // null: none
  std::array<int64_t, 3> step{};
};
// What is added to scores, or says whether keys are seen: (batch, heads, rows, keys).
struct TurnedTerm {
  const void* data = nullptr;  // null: none
  std::array<int64_t, 4> step{};
  bool pairs = false;  // two neighbouring keys may be read at once
};

// y = softmax(scale * turn(q) @ turn(k)^T + terms) @ v.
struct TurnedAttention {
  int batch = 0, heads = 0, rows = 0, keys = 0, width = 0;
  float scale = 1, fill = 0;
  TurnedHeads q, k, v, y, q_cos, q_sin, k_cos, k_sin;
  std::array<TurnedTerm, 2> added;
  TurnedTerm mask;  // bool: where false the score is `fill`
  ops::ZeroRows zero_rows = ops::ZeroRows::kNone;
  bool constant_angles = false;  // they may be read before earlier kernels are done
};

}  // namespace plica::cuda::attention
