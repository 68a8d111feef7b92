#pragma once

#include <optional>

#include "ops/attention.h"
#include "ops/cuda/attention_turned.h"

namespace plica::cuda::attention {

// One or two Rotary steps and the Attention of what they turn. Axes are batch, heads, rows and width.
struct TurnedSteps {
  static constexpr size_t kAxes = 4;
  using Start = std::array<int64_t, kAxes - 1>;

  size_t count = 0;            // rotary steps ahead of the attention
  int q = -1, k = -1;          // which of them turns an operand, -1: none
  Start q_start{}, k_start{};  // from where on in what it gives
  ops::Attention op;
  bool constant_angles = true;
};

// Those that stand first, where they are of 16 bits, a form that the kernel knows, and few blocks of short sequences.
std::optional<TurnedSteps> find_turned_steps(std::span<const RunStep> steps);

// All that the kernel needs; `steps` as they were found.
TurnedAttention make_turned_attention(const TurnedSteps& found, std::span<const KernelArgs> steps);

}  // namespace plica::cuda::attention
