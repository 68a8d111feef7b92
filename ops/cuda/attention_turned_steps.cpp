#include "ops/cuda/attention_turned_steps.h"

#include <algorithm>

#include "ops/rotary.h"
#include "ops/strided.h"

namespace plica::cuda::attention {
namespace {

constexpr size_t kAxes = TurnedSteps::kAxes;
constexpr int64_t kMostKeys = 128;    // what a block holds; longer sequences take less time as two kernels
constexpr int64_t kMostBlocks = 264;  // two a multiprocessor of an H200

using Start = TurnedSteps::Start;

bool has_whole_rows(const plica::Operand& operand) {
  if (operand.type->shape.size() > kAxes || operand.alignment_bytes % 16 != 0) return false;
  const AxisStrides strides = strides_in(*operand.type, kAxes);
  bool fits = strides[kAxes - 1] == 1;
  for (size_t i = 0; i + 1 < kAxes; ++i) fits &= strides[i] % 8 == 0 && strides[i] >= 0;
  return fits;
}

bool is_16_bit(const TensorType& type) { return type.dtype == DType::kF16 || type.dtype == DType::kBF16; }

// Rotary in halves of rows that lie as vectors, its result for the attention alone.
bool is_turner(const RunStep& step) {
  if (step.op != &rotary_op || static_cast<const ops::Rotary*>(step.attrs)->interleaved || !step.inner[0]) return false;
  if (!is_16_bit(*step.c.out[0].type) || !is_dense(*step.c.out[0].type)) return false;
  return std::ranges::all_of(step.c.in, has_whole_rows) && has_whole_rows(step.c.out[0]);
}

// Where in what the rotary step gives a part of it starts: heads or batches of it, its rows as far apart. Nothing where it is seen with
// other axes.
std::optional<Start> start_in(const RunStep& rotary, const plica::Operand& part, int64_t offset_bytes) {
  const plica::Shape &inner = part.type->shape, &outer = rotary.c.out[0].type->shape;
  if (inner.size() != outer.size() || inner.back() != outer.back()) return std::nullopt;
  const AxisStrides of_part = strides_in(*part.type, kAxes), of_whole = strides_in(*rotary.c.out[0].type, kAxes);
  const size_t missing = kAxes - inner.size();
  int64_t left = (offset_bytes - rotary.out_offset_bytes[0]) / 2;
  Start start{};
  for (size_t axis = missing; axis + 1 < kAxes; ++axis) {
    if (of_part[axis] != 0 && of_part[axis] != of_whole[axis]) return std::nullopt;
    if (of_whole[axis] != 0) start[axis] = left / of_whole[axis];
    left -= start[axis] * of_whole[axis];
    if (start[axis] < 0 || start[axis] + inner[axis - missing] > outer[axis - missing]) return std::nullopt;
  }
  return left == 0 ? std::optional(start) : std::nullopt;
}

bool find_turners(std::span<const RunStep> steps, TurnedSteps& turners) {
  while (turners.count < steps.size() && is_turner(steps[turners.count])) ++turners.count;
  if (turners.count == 0 || turners.count > 2 || turners.count == steps.size()) return false;
  const RunStep& last = steps[turners.count];
  if (last.op != &attention_op) return false;
  const auto turner_of = [&](size_t operand, Start& start) {
    for (size_t i = 0; i < turners.count; ++i) {
      if (steps[i].out[0] != last.in[operand]) continue;
      const auto found = start_in(steps[i], last.c.in[operand], last.in_offset_bytes[operand]);
      if (!found) continue;
      start = *found;
      return static_cast<int>(i);
    }
    return -1;
  };
  turners.q = turner_of(0, turners.q_start);
  turners.k = turner_of(1, turners.k_start);
  for (int i = 0; i < static_cast<int>(turners.count); ++i)
    if (turners.q != i && turners.k != i) return false;
  // Nothing else of the attention reads what is not there any more.
  for (size_t operand = 0; operand < last.in.size(); ++operand)
    for (size_t i = 0; i < turners.count; ++i)
      if (last.in[operand] == steps[i].out[0] &&
          (operand > 1 || (operand == 0 ? turners.q : turners.k) != static_cast<int>(i)))
        return false;
  return true;
}

// Whether the attention is one of few short sequences in a form that the kernel knows.
bool is_known(const ops::Attention& op, const Case& c) {
  if (op.causal || c.has(5) || c.has(6)) return false;
  const TensorType &q = *c.in[0].type, &v = *c.in[2].type, &y = *c.out[0].type;
  const int64_t width = q.shape.back();
  if (!is_16_bit(q) || c.device.compute_capability < 80 || v.shape.back() != width) return false;
  if (width != 16 && width != 32 && width != 64 && width != 128) return false;
  for (size_t i : {0, 1, 2})
    if (!has_whole_rows(c.in[i])) return false;
  for (size_t i : {3, 4})
    if (c.has(i) && c.in[i].type->shape.size() > kAxes) return false;
  if (!has_whole_rows(c.out[0]) || num_elements(y.shape) == 0 || v.shape.end()[-2] == 0) return false;
  const int64_t rows = y.shape.end()[-2], keys = v.shape.end()[-2], heads = num_elements(y.shape) / (rows * width);
  return keys <= kMostKeys && heads * ((rows + 31) / 32) <= kMostBlocks;
}

TurnedHeads heads_of(const TensorView& view, int64_t offset = 0) {
  const AxisStrides strides = strides_in(view.type, kAxes);
  return {static_cast<const uint16_t*>(view.data) + offset, {strides[0], strides[1], strides[2]}};
}

TurnedTerm term_of(const TensorView& view) {
  const AxisStrides strides = strides_in(view.type, kAxes);
  const bool is_even = strides[0] % 2 == 0 && strides[1] % 2 == 0 && strides[2] % 2 == 0 && strides[3] == 1 &&
                       view.type.shape.back() % 2 == 0;
  return {view.data,
          {strides[0], strides[1], strides[2], strides[3]},
          is_even && reinterpret_cast<uintptr_t>(view.data) % (2 * size_of(view.type.dtype)) == 0};
}

// Queries or keys as they are before they are turned, and their angles: from `start` on of what the rotary step takes.
void set_turned(const TensorView& part, const KernelArgs& rotary, const Start& start, TurnedHeads& x,
                TurnedHeads& cosine, TurnedHeads& sine) {
  const AxisStrides of_part = strides_in(part.type, kAxes);
  TurnedHeads* const all[] = {&x, &cosine, &sine};
  for (size_t n = 0; n < 3; ++n) {
    const AxisStrides strides = strides_in(rotary.in[n].type, kAxes);
    int64_t offset = 0;
    for (size_t axis = 0; axis < start.size(); ++axis) offset += start[axis] * strides[axis];
    *all[n] = heads_of(rotary.in[n], offset);
    for (size_t axis = 0; axis < start.size(); ++axis)
      if (of_part[axis] == 0) all[n]->step[axis] = 0;
  }
}

}  // namespace

std::optional<TurnedSteps> find_turned_steps(std::span<const RunStep> steps) {
  TurnedSteps found;
  if (!find_turners(steps, found)) return std::nullopt;
  const RunStep& attention = steps[found.count];
  found.op = *static_cast<const ops::Attention*>(attention.attrs);
  if (!is_known(found.op, attention.c)) return std::nullopt;
  for (size_t i = 0; i < found.count; ++i)
    for (size_t angle : {1, 2}) found.constant_angles &= steps[i].c.in[angle].constant != nullptr;
  return found;
}

TurnedAttention make_turned_attention(const TurnedSteps& found, std::span<const KernelArgs> steps) {
  const KernelArgs& args = steps[found.count];
  const TensorType& y = args.out[0].type;
  TurnedAttention p;
  const size_t rank = y.shape.size();
  p.rows = static_cast<int>(y.shape[rank - 2]);
  p.width = static_cast<int>(y.shape[rank - 1]);
  p.keys = static_cast<int>(args.in[1].type.shape.end()[-2]);
  p.heads = rank > 2 ? static_cast<int>(y.shape[rank - 3]) : 1;
  p.batch = rank > 3 ? static_cast<int>(y.shape[0]) : 1;
  p.scale = static_cast<float>(found.op.scale);
  p.fill = static_cast<float>(found.op.fill);
  p.zero_rows = found.op.zero_rows;
  p.constant_angles = found.constant_angles;
  p.q = heads_of(args.in[0]);
  p.k = heads_of(args.in[1]);
  p.v = heads_of(args.in[2]);
  p.y = heads_of(args.out[0]);
  if (found.q >= 0) set_turned(args.in[0], steps[static_cast<size_t>(found.q)], found.q_start, p.q, p.q_cos, p.q_sin);
  if (found.k >= 0) set_turned(args.in[1], steps[static_cast<size_t>(found.k)], found.k_start, p.k, p.k_cos, p.k_sin);
  if (args.has(3)) p.added[0] = term_of(args.in[3]);
  if (args.has(4)) (args.in[4].type.dtype == DType::kBool ? p.mask : p.added[1]) = term_of(args.in[4]);
  return p;
}

}  // namespace plica::cuda::attention
