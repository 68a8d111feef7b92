#include <algorithm>

#include "ops/cuda/attention_projected.cuh"
#include "ops/cuda/attention_projected.h"
#include "ops/cuda/attention_turned_steps.h"
#include "ops/mat_mul.h"
#include "ops/rotary.h"
#include "ops/strided.h"

namespace plica::cuda::attention {
namespace {

using Start = TurnedSteps::Start;

constexpr int64_t kMostBlocks = 132;  // one a multiprocessor of an H200

template <class T>
using Tile = ProjectedTile<T>;

struct State {
  TurnedSteps turned;
  std::array<HeadColumns, 3> columns;  // of queries, keys and values
};

// A product of whole rows with a constant matrix and bias, and nothing else.
bool is_projection(const RunStep& step) {
  if (step.op != &mat_mul_op || !step.inner[0] || step.c.has(3) || step.c.has(4)) return false;
  const auto& op = *static_cast<const ops::MatMul*>(step.attrs);
  if (op.alpha != 1 || op.activation != ops::Activation::kNone) return false;
  const plica::Operand &x = step.c.in[0], &w = step.c.in[1];
  const TensorType& y = *step.c.out[0].type;
  if (w.constant == nullptr || w.type->shape.size() != 2 || (step.kernel->absorbs & 2) != 0) return false;
  if (step.c.has(2) && (step.c.in[2].constant == nullptr || !is_dense(*step.c.in[2].type) ||
                        step.c.in[2].alignment_bytes % sizeof(uint32_t) != 0))
    return false;
  return is_dense(*x.type) && is_dense(*w.type) && is_dense(y) && x.alignment_bytes % 16 == 0 &&
         w.alignment_bytes % 16 == 0 && x.type->shape.back() % 8 == 0 && y.shape.back() % 8 == 0;
}

struct HeadAxes {
  int64_t batches, heads, rows, width;
};
HeadAxes axes_of(const RunStep& attention) {
  const plica::Shape& y = attention.c.out[0].type->shape;
  return {y.size() > 3 ? y.front() : 1, y.size() > 2 ? y.end()[-3] : 1, y.end()[-2], y.back()};
}

// Where heads of an operand of the attention stand in rows of the product's result.
std::optional<HeadColumns> columns_of(std::span<const RunStep> steps, const TurnedSteps& turned, size_t operand) {
  const RunStep &product = steps[0], &attention = steps[1 + turned.count];
  const int turner = operand == 0 ? turned.q : operand == 1 ? turned.k : -1;
  const RunStep& reader = turner < 0 ? attention : steps[1 + static_cast<size_t>(turner)];
  const size_t at = turner < 0 ? operand : 0;
  if (reader.in[at] != product.out[0]) return std::nullopt;
  const Start start = turner < 0 ? Start{} : operand == 0 ? turned.q_start : turned.k_start;
  const AxisStrides steps_of = strides_in(*reader.c.in[at].type, TurnedSteps::kAxes),
                    seen = strides_in(*attention.c.in[operand].type, TurnedSteps::kAxes);
  int64_t first = (reader.in_offset_bytes[at] - product.out_offset_bytes[0]) / 2;
  for (size_t axis = 0; axis < start.size(); ++axis) first += start[axis] * steps_of[axis];
  const HeadAxes axes = axes_of(attention);
  const int64_t columns = product.c.out[0].type->shape.back(), step = seen[1] == 0 ? 0 : steps_of[1];
  if (axes.rows > 1 && (steps_of[2] != columns || seen[2] == 0)) return std::nullopt;
  if (axes.batches > 1 && (steps_of[0] != axes.rows * columns || seen[0] == 0)) return std::nullopt;
  if (first < 0 || first + (axes.heads - 1) * step + axes.width > columns) return std::nullopt;
  return HeadColumns{static_cast<int>(first), static_cast<int>(step)};
}

// Nothing but what the kernel makes reads the product's result.
bool is_read_elsewhere(std::span<const RunStep> steps, const TurnedSteps& turned) {
  const int result = steps[0].out[0];
  for (size_t i = 1; i <= turned.count; ++i)
    if (steps[i].in[1] == result || steps[i].in[2] == result) return true;
  const std::vector<int>& in = steps[1 + turned.count].in;
  return std::find(in.begin() + 3, in.end(), result) != in.end();
}

std::optional<State> make_state(std::span<const RunStep> steps) {
  if (steps.size() < 3 || !is_projection(steps[0]) || steps[0].c.device.compute_capability / 10 != 9)
    return std::nullopt;
  const auto turned = find_turned_steps(steps.subspan(1));
  if (!turned || turned->count + 1 > kRunLag || is_read_elsewhere(steps, *turned)) return std::nullopt;
  const RunStep &product = steps[0], &attention = steps[1 + turned->count];
  const int64_t k = product.c.in[0].type->shape.back();
  const HeadAxes axes = axes_of(attention);
  if (axes.width != Tile<BF16>::kWidth || k == 0 || k > Tile<BF16>::kDepth * Tile<BF16>::kMostStages)
    return std::nullopt;
  if (num_elements(product.c.in[0].type->shape) != axes.batches * axes.rows * k) return std::nullopt;
  if (attention.c.in[2].type->shape.end()[-2] != axes.rows) return std::nullopt;
  if (axes.batches * axes.heads * ceil_div(axes.rows, Tile<BF16>::Turned::kQueries) > kMostBlocks) return std::nullopt;
  State state{*turned, {}};
  for (size_t operand = 0; operand < 3; ++operand) {
    const auto columns = columns_of(steps, *turned, operand);
    if (!columns) return std::nullopt;
    state.columns[operand] = *columns;
  }
  return state;
}

bool knows(const RunStep& step) { return step.op == &mat_mul_op || step.op == &rotary_op || step.op == &attention_op; }

size_t takes(std::span<const RunStep> steps) {
  const auto state = make_state(steps);
  return state ? state->turned.count + 2 : 0;
}

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore&) {
  return RunParts{std::make_shared<const State>(*make_state(steps)), {}, 0};
}

template <class T>
void launch(const State& state, std::span<const KernelArgs> steps, cudaStream_t stream) {
  using C = Tile<T>;
  constexpr DType kDType = std::is_same_v<T, F16> ? DType::kF16 : DType::kBF16;
  const KernelArgs& product = steps.front();
  const TensorView &x = product.in[0], &w = product.in[1];
  const int64_t k = w.type.shape[0], columns = w.type.shape[1];
  ProjectedAttention p;
  p.attention = make_turned_attention(state.turned, steps.subspan(1));
  p.x = map_boxes({x.data, kDType, num_elements(x.type.shape) / k, k, k}, C::kRows);
  p.w = map_strips({w.data, kDType, k, columns, columns}, C::kDepth, C::kWidth);
  p.bias = product.has(2) ? product.in[2].data : nullptr;
  p.k = static_cast<int>(k);
  std::ranges::copy(state.columns, p.columns);
  const dim3 grid(static_cast<unsigned>(ceil_div(p.attention.rows, C::Turned::kQueries)),
                  static_cast<unsigned>(p.attention.heads), static_cast<unsigned>(p.attention.batch));
  cudaFuncSetAttribute(projected_attention_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  launch_early({grid, C::kThreads, C::kSharedBytes, stream}, projected_attention_kernel<C>, p);
}

void run(const RunArgs& run) {
  const State& state = *static_cast<const State*>(run.state);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  run.steps.back().out[0].type.dtype == DType::kF16 ? launch<F16>(state, run.steps, stream)
                                                    : launch<BF16>(state, run.steps, stream);
}

}  // namespace

constinit const RunKernel projected_attention = {
    .name = "projected", .knows = knows, .takes = takes, .prepare = prepare, .run = run};

}  // namespace plica::cuda::attention
