#include <algorithm>
#include <set>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/scalar.cuh"
#include "ops/cuda/small_steps.h"
#include "ops/scalar.h"

namespace plica::cuda {
namespace {

using ops::ReduceKind;

constexpr int kWarps = 16, kThreads = kWarps * kWarp;
// That a step makes; it reads up to twice as many. One block is as fast as many for so few.
constexpr int64_t kMostElements = 1024;

__device__ int offset_of(int linear, int rank, const int32_t (&size)[kSmallAxes], const int32_t (&stride)[kSmallAxes]) {
  int offset = 0;
  for (int axis = rank - 1; axis > 0; --axis) {
    const int rest = linear / size[axis];
    offset += (linear - rest * size[axis]) * stride[axis];
    linear = rest;
  }
  return offset + linear * stride[0];
}

__device__ Scalar make_element(const SmallStep& step, int linear) {
  Scalar registers[kSmallInputs + kSmallInstructions];
  for (int i = 0; i < step.num_inputs; ++i)
    registers[i] =
        load_scalar(step.in[i].data, step.in[i].dtype, offset_of(linear, step.rank, step.size, step.in[i].stride));
  for (int k = 0; k < step.num_instructions; ++k) {
    const ScalarStep& instruction = step.instructions[k];
    Scalar value[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (instruction.from[i] >= 0)
        value[i] = registers[instruction.from[i]];
      else
        value[i].i = step.constants[-1 - instruction.from[i]];
    }
    registers[step.num_inputs + k] =
        apply(instruction.fn, instruction.result, {instruction.in, instruction.second, instruction.out}, value[0],
              value[1], value[2]);
  }
  return registers[step.num_inputs + step.num_instructions - 1];
}

// NaN wins over any number.
__device__ Scalar combine(ReduceKind kind, DType dtype, Scalar a, Scalar b) {
  Scalar y;
  if (is_float(dtype)) {
    const bool first = kind == ReduceKind::kMax ? a.f > b.f || a.f != a.f : a.f < b.f || a.f != a.f;
    y.f = kind == ReduceKind::kSum ? a.f + b.f : first ? a.f : b.f;
    return y;
  }
  const bool less = is_unsigned(dtype) ? static_cast<uint64_t>(a.i) < static_cast<uint64_t>(b.i) : a.i < b.i;
  y.i = kind == ReduceKind::kSum ? static_cast<int64_t>(static_cast<uint64_t>(a.i) + static_cast<uint64_t>(b.i))
        : (kind == ReduceKind::kMin) == less ? a.i
                                             : b.i;
  return y;
}

// By a warp. kFlight elements of a lane are on their way at once.
template <class U>
__device__ void load_range(const SmallStep& step, int from, Scalar& total, bool& any) {
  constexpr int kFlight = 4;
  const auto* x = static_cast<const U*>(step.in[0].data) + from;
  for (int first = static_cast<int>(threadIdx.x) % kWarp; first < step.range; first += kFlight * kWarp) {
    U raw[kFlight];
#pragma unroll
    for (int i = 0; i < kFlight; ++i)
      raw[i] =
          x[offset_of(min(first + i * kWarp, step.range - 1), step.range_rank, step.range_size, step.range_stride)];
#pragma unroll
    for (int i = 0; i < kFlight; ++i) {
      if (first + i * kWarp >= step.range) break;
      const Scalar value = load_scalar(&raw[i], step.in[0].dtype, 0);
      total = any ? combine(step.kind, step.in[0].dtype, total, value) : value;
      any = true;
    }
  }
}

__device__ Scalar reduce_range(const SmallStep& step, int linear) {
  const int from = offset_of(linear, step.rank, step.size, step.in[0].stride);
  Scalar total{};
  bool any = false;
  switch (step.in[0].bytes) {
    case 1: load_range<uint8_t>(step, from, total, any); break;
    case 2: load_range<uint16_t>(step, from, total, any); break;
    case 4: load_range<uint32_t>(step, from, total, any); break;
    default: load_range<uint64_t>(step, from, total, any); break;
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    Scalar other;
    other.i = __shfl_down_sync(~0u, total.i, lanes);
    if (static_cast<int>(threadIdx.x) % kWarp + lanes < min(kWarp, step.range))
      total = combine(step.kind, step.in[0].dtype, total, other);
  }
  return total;
}

// One step behind the other, those of a level at once, each by some of the block's warps.
__global__ void __launch_bounds__(kThreads) run_small_steps(const __grid_constant__ SmallSteps steps) {
  wait_for_earlier();
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  for (int i = 0; i < steps.num; ++i) {
    const SmallStep& step = steps.step[i];
    const int part = warp - step.first_warp;
    if (part >= 0 && part < step.num_warps) {
      const int each = step.is_map ? kWarp : 1;
      for (int linear = part * each + (step.is_map ? lane : 0); linear < step.count; linear += step.num_warps * each) {
        const Scalar value = step.is_map ? make_element(step, linear) : reduce_range(step, linear);
        if (step.is_map || lane == 0)
          store_scalar(step.y.data, step.y.dtype, offset_of(linear, step.rank, step.size, step.y.stride), value);
      }
    }
    if (step.ends_level) __syncthreads();
  }
}

template <size_t kNum>
bool set_axes(const Layout<static_cast<int>(kNum)>& layout, int32_t& rank, int32_t (&size)[kSmallAxes],
              const std::array<int32_t (*)[kSmallAxes], kNum>& strides) {
  if (layout.rank > kSmallAxes) return false;
  rank = layout.rank;
  for (int axis = 0; axis < layout.rank; ++axis) {
    size[axis] = static_cast<int32_t>(layout.size[axis]);
    for (size_t n = 0; n < kNum; ++n) {
      const int64_t stride = layout.stride[n][axis];
      if (std::abs(stride) > (int64_t{1} << 20)) return false;
      (*strides[n])[axis] = static_cast<int32_t>(stride);
    }
  }
  return true;
}

// Whether it gives the same bits however wide it is computed.
bool is_exact(ops::Fn fn) {
  using enum ops::Fn;
  constexpr ops::Fn kExact[] = {kAbs,  kAdd,  kSub,   kMul,   kDiv,   kNeg,   kMax,  kMin,
                                kRelu, kCeil, kFloor, kRound, kSign,  kEqual, kLess, kLessOrEqual,
                                kAnd,  kOr,   kXor,   kNot,   kIsNaN, kIsInf, kCast, kWhere};
  return std::ranges::find(kExact, fn) != std::end(kExact);
}

bool set_map(const RunStep& step, SmallStep& small) {
  const ops::Program& whole = static_cast<const ops::Map*>(step.attrs)->program;
  if (!std::ranges::all_of(whole.instructions, is_exact, &ops::Instruction::fn)) return false;
  const auto program = decode(whole, step.c);
  if (!program || program->num_steps > kSmallInstructions || program->num_constants > kSmallInstructions) return false;
  std::copy_n(program->steps, program->num_steps, small.instructions);
  std::copy_n(program->constants, program->num_constants, small.constants);
  small.num_instructions = static_cast<int8_t>(program->num_steps);
  const TensorType& y = *step.c.out[0].type;
  const size_t rank = y.shape.size();
  std::array<AxisStrides, kSmallInputs + 1> strides{strides_in(y, rank)};
  for (size_t i = 0; i < step.c.in.size(); ++i) strides[i + 1] = strides_in(*step.c.in[i].type, rank);
  return set_axes<kSmallInputs + 1>(
      make_layout(std::span<const int64_t>(y.shape), strides), small.rank, small.size,
      {&small.y.stride, &small.in[0].stride, &small.in[1].stride, &small.in[2].stride, &small.in[3].stride});
}

bool set_reduce(const RunStep& step, SmallStep& small) {
  const auto& op = *static_cast<const ops::Reduce*>(step.attrs);
  if (op.kind != ReduceKind::kSum && op.kind != ReduceKind::kMax && op.kind != ReduceKind::kMin) return false;
  const TensorType &x = *step.c.in[0].type, &y = *step.c.out[0].type;
  const size_t rank = x.shape.size();
  const AxisStrides of_x = strides_in(x, rank), of_y = strides_in(y, y.shape.size());
  AxisSizes kept{}, range{};
  AxisStrides y_strides{};
  for (size_t axis = 0, next = 0; axis < rank; ++axis) {
    const bool is_reduced = std::ranges::find(op.axes, static_cast<int64_t>(axis)) != op.axes.end();
    kept[axis] = is_reduced ? 1 : x.shape[axis];
    range[axis] = is_reduced ? x.shape[axis] : 1;
    if (!is_reduced) y_strides[axis] = of_y[next];
    next += !is_reduced || op.keepdims;
  }
  small.kind = op.kind;
  const auto ranges = make_layout<1>(std::span<const int64_t>(range).first(rank), {of_x});
  small.range = static_cast<int32_t>(ranges.count);
  return set_axes<2>(make_layout<2>(std::span<const int64_t>(kept).first(rank), {y_strides, of_x}), small.rank,
                     small.size, {&small.y.stride, &small.in[0].stride}) &&
         set_axes<1>(ranges, small.range_rank, small.range_size, {&small.range_stride});
}

// All of a step but where its operands lie.
std::optional<SmallStep> small_step(const RunStep& step) {
  if ((step.op != &map_op && step.op != &reduce_op) || step.c.in.size() > kSmallInputs || over_rank(step.c) != nullptr)
    return std::nullopt;
  SmallStep small{};
  small.is_map = step.op == &map_op;
  small.num_inputs = static_cast<int8_t>(step.c.in.size());
  for (size_t i = 0; i < step.c.in.size(); ++i) {
    const int64_t count = num_elements(step.c.in[i].type->shape);
    if (count == 0 || count > 2 * kMostElements) return std::nullopt;
    small.in[i].dtype = step.c.in[i].type->dtype;
    small.in[i].bytes = static_cast<uint8_t>(size_of(small.in[i].dtype));
  }
  small.y.dtype = step.c.out[0].type->dtype;
  const int64_t count = num_elements(step.c.out[0].type->shape);
  if (count == 0 || count > kMostElements) return std::nullopt;
  small.count = static_cast<int32_t>(count);
  if (!(small.is_map ? set_map(step, small) : set_reduce(step, small))) return std::nullopt;
  return small;
}

bool knows(const RunStep& step) { return small_step(step).has_value(); }

// Fewer steps are as soon done beside others (H200, outer product mean of few rows, two such steps: 0.021 -> 0.031 ms).
constexpr size_t kFewestSteps = 4;

// Steps wait for nothing but what the first of them waits for.
size_t takes(std::span<const RunStep> steps) {
  std::set<int> there;
  size_t count = 0;
  const auto taken = [&] { return count >= kFewestSteps ? count : 0; };
  for (const RunStep& step : steps.first(std::min<size_t>(steps.size(), kSmallSteps))) {
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (count == 0 || step.given[i]) there.insert(step.in[i]);
      if (step.in[i] >= 0 && !there.contains(step.in[i])) return taken();
    }
    there.insert(step.out[0]);
    ++count;
  }
  return taken();
}

bool touches(const std::vector<int>& memory, int what) { return std::ranges::find(memory, what) != memory.end(); }

// Whether the later step must wait for the other one.
bool needs(const RunStep& later, const RunStep& earlier) {
  return touches(later.in, earlier.out[0]) || touches(earlier.in, later.out[0]) || later.out[0] == earlier.out[0];
}

// Steps that need nothing of one another share the warps. As none may be done more than kRunLag steps late, they are few.
void set_levels(std::span<const RunStep> run, SmallSteps& small) {
  for (size_t begin = 0, end = 0; begin < run.size(); begin = end) {
    const auto waits = [&](size_t i) {
      return std::ranges::any_of(run.subspan(begin, i - begin),
                                 [&](const RunStep& each) { return needs(run[i], each); });
    };
    for (end = begin + 1; end < run.size() && end - begin <= size_t{kRunLag} && !waits(end);) ++end;
    const int share = kWarps / static_cast<int>(end - begin);
    for (size_t i = begin; i < end; ++i) {
      small.step[i].first_warp = static_cast<int8_t>(share * static_cast<int>(i - begin));
      small.step[i].num_warps = static_cast<int8_t>(share);
    }
    small.step[end - 1].ends_level = true;
  }
}

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore&) {
  auto small = std::make_shared<SmallSteps>();
  for (const RunStep& step : steps) small->step[small->num++] = *small_step(step);
  set_levels(steps, *small);
  return RunParts{std::move(small), {}};
}

void run(const RunArgs& args) {
  SmallSteps steps = *static_cast<const SmallSteps*>(args.state);
  for (size_t i = 0; i < args.steps.size(); ++i) {
    for (size_t k = 0; k < args.steps[i].in.size(); ++k)
      steps.step[i].in[k].data = const_cast<void*>(args.steps[i].in[k].data);
    steps.step[i].y.data = args.steps[i].out[0].data;
  }
  launch_early({dim3(1), kThreads, 0, static_cast<cudaStream_t>(args.stream)}, run_small_steps, steps);
}

}  // namespace

constinit const RunKernel small_steps = {
    .name = "small", .knows = knows, .reads_inputs = true, .takes = takes, .prepare = prepare, .run = run};

}  // namespace plica::cuda
