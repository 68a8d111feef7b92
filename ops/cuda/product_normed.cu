#include <algorithm>

#include "ops/cuda/folded_norm.h"
#include "ops/cuda/product_normed.h"
#include "ops/cuda/product_wgmma_tiles_launch.cuh"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/rotary.h"

namespace plica::cuda {
namespace {

using ops::Activation;

constexpr size_t kAxes = 4;            // of what is turned: batch, heads, rows, width
constexpr int64_t kTileColumns = 128;  // of the forms that turn columns
constexpr int kPatience = 4096;        // 2 to 3 ms

enum Place : size_t { kNorm, kProduct, kTurner };  // of steps in a run

struct State {
  TiledState tiled;
  FoldedNorm norm;
  std::optional<TurnedColumns> turned;

  size_t count() const { return turned ? kTurner + 1 : kProduct + 1; }
};

bool is_rows_of_vectors(const plica::Operand& operand) {
  const TensorType& type = *operand.type;
  if (type.shape.size() > kAxes || operand.alignment_bytes % 16 != 0) return false;
  const AxisStrides strides = strides_in(type, kAxes);
  return strides[kAxes - 1] == 1 && std::all_of(strides.begin(), strides.begin() + kAxes - 1,
                                                [](int64_t step) { return step >= 0 && step % 8 == 0; });
}

// Cosines or sines that are the same for all heads.
bool is_angles(const plica::Operand& operand) {
  return operand.constant != nullptr && is_rows_of_vectors(operand) && strides_in(*operand.type, kAxes)[1] == 0;
}

int64_t size_of_axis(const TensorType& type, size_t axis) {
  const size_t missing = kAxes - type.shape.size();
  return axis < missing ? 1 : type.shape[axis - missing];
}

// The columns of the product that a rotary embedding turns, as heads of a width; its result's memory is nobody's else.
std::optional<TurnedColumns> find_columns(std::span<const RunStep> steps, const BlockProduct& p) {
  const RunStep &norm = steps[kNorm], &product = steps[kProduct], &turner = steps[kTurner];
  if (turner.op != &rotary_op || turner.in[0] != product.out[0]) return std::nullopt;
  const TensorType &x = *turner.c.in[0].type, &y = *product.c.out[0].type;
  if (x.dtype != y.dtype || !is_dense(y) || x.shape.size() < 2 || !is_rows_of_vectors(turner.c.in[0]) ||
      !is_rows_of_vectors(turner.c.out[0]) || !is_angles(turner.c.in[1]) || !is_angles(turner.c.in[2]))
    return std::nullopt;
  const int64_t written = turner.out[0];
  if (written == product.out[0] || written == product.in[0] || written == norm.in[0]) return std::nullopt;
  const AxisStrides apart = strides_in(x, kAxes);
  const int64_t batch = size_of_axis(x, 0), heads = size_of_axis(x, 1), rows = size_of_axis(x, 2),
                width = x.shape.back();
  const int64_t begin = (turner.in_offset_bytes[0] - product.out_offset_bytes[0]) / 2, end = begin + heads * width;
  const bool fits = batch * rows == p.m && (rows == 1 || apart[2] == p.n) && (batch == 1 || apart[0] == rows * p.n) &&
                    (heads == 1 || apart[1] == width) && begin >= 0 && end <= p.n;
  if (!fits || begin % kTileColumns != 0 || end % kTileColumns != 0) return std::nullopt;
  if (width != 16 && width != 32 && width != 64) return std::nullopt;
  const AxisStrides cosine = strides_in(*turner.c.in[1].type, kAxes), sine = strides_in(*turner.c.in[2].type, kAxes),
                    to = strides_in(*turner.c.out[0].type, kAxes);
  TurnedColumns columns;
  columns.begin = static_cast<int>(begin), columns.end = static_cast<int>(end);
  columns.width = static_cast<int>(width), columns.rows = static_cast<int>(rows);
  columns.interleaved = static_cast<const ops::Rotary*>(turner.attrs)->interleaved;
  columns.cosine_batch = cosine[0], columns.cosine_row = cosine[2];
  columns.sine_batch = sine[0], columns.sine_row = sine[2];
  columns.batch = to[0], columns.head = to[1], columns.row = to[2];
  return columns;
}

// Whether nobody outside the run reads the product's columns from begin to end, which are not written.
bool is_unread(const RunStep& product, const TurnedColumns& columns) {
  const int64_t n = product.c.out[0].type->shape.back();
  return std::ranges::all_of(product.outside[0], [&](const OutsideRead& read) {
    const AxisStrides steps = strides_in(*read.type, kMaxRank);
    int64_t first = (read.offset_bytes - product.out_offset_bytes[0]) / 2 % n, last = first;
    for (size_t axis = 0; axis < read.type->shape.size(); ++axis) {
      const int64_t step = steps[kMaxRank - read.type->shape.size() + axis];
      if (step < 0) return false;
      if (step % n != 0) last += (read.type->shape[axis] - 1) * step;
    }
    return read.offset_bytes >= product.out_offset_bytes[0] && last < n &&
           (last < columns.begin || first >= columns.end);
  });
}

// Whether each block has one tile, and a multiprocessor of its own: blocks wait for what others make.
bool fits_at_once(const TiledState& state) {
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);  // whoever plans has made it the current one
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return state.form != TileForm::kTurns && multiprocessors >= kMultiprocessors;
}

// Whether it takes less time than its steps alone, by times of an H200: cuBLASLt's products without an activation are faster where
// fewer tiles are to be made.
bool pays(const ops::MatMul& op, const TiledState& state) {
  constexpr int64_t kFewestPlain = 100;
  constexpr int kFewestRows = 512;  // ESM-2 650M loses 10 % at 256
  if (state.product.m < kFewestRows) return false;
  switch (op.activation) {
    case Activation::kNone: return tiles_for<AtOnceTile<BF16, true>>(state.product) >= kFewestPlain;
    case Activation::kRelu:
    case Activation::kGeluTanh: return false;  // the kernel does not know them
    default: return true;
  }
}

// What can be one launch of these steps, from the first on.
std::optional<State> find(std::span<const RunStep> steps) {
  if (steps.size() < kProduct + 1) return std::nullopt;
  const std::optional<FoldedNorm> norm = folded_norm(steps[kNorm], steps[kProduct]);
  if (!norm) return std::nullopt;
  State state;
  state.norm = *norm;
  const RunStep& product = steps[kProduct];
  const std::vector<Operand> in = operands_without_norm(steps[kNorm], product);
  Case c = product.c;
  c.in = in;
  const auto& op = *static_cast<const ops::MatMul*>(product.attrs);
  if (make_tiled_product(op, c, state.tiled) != nullptr || !pays(op, state.tiled)) return std::nullopt;
  if (!fits_at_once(state.tiled)) return std::nullopt;
  if (steps.size() == kProduct + 1 || op.activation != Activation::kNone || !state.tiled.may_turn()) return state;
  state.turned = find_columns(steps, state.tiled.product);
  if (state.turned && !is_unread(product, *state.turned)) state.turned = std::nullopt;
  return state;
}

bool knows(const RunStep& step) {
  return step.op == &layer_norm_op || step.op == &rms_norm_op || step.op == &mat_mul_op || step.op == &rotary_op;
}

size_t takes(std::span<const RunStep> steps) {
  const std::optional<State> state = find(steps);
  return state ? state->count() : 0;
}

// For the moments.
size_t scratch_bytes(std::span<const RunStep> steps) {
  return static_cast<size_t>(find(steps)->tiled.product.m) * sizeof(float2);
}

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore& constants) {
  const std::optional<State> state = find(steps);
  RunParts parts{.state = std::make_shared<const State>(*state), .constants = {}, .own_bytes = 2 * sizeof(unsigned)};
  if (state->norm.has_mean) {
    PLICA_TRY(ConstantPtr sums, column_sums(steps[kProduct].c.in[1].constant, constants));
    parts.constants.push_back(std::move(sums));
  }
  return parts;
}

void run(const RunArgs& args) { run_normed_product(args, kPatience); }

}  // namespace

void run_normed_product(const RunArgs& args, int patience) {
  const State& state = *static_cast<const State*>(args.state);
  const KernelArgs& product = args.steps[kProduct];
  BlockProduct p = state.tiled.product;
  set_operands(product, p);
  p.a = args.steps[kNorm].in[0].data;
  TiledProduct tiled;
  tiled.moments.to = static_cast<float2*>(args.scratch);
  tiled.moments.eps = state.norm.eps;
  tiled.moments.has_mean = state.norm.has_mean;
  tiled.moments.progress = static_cast<unsigned*>(args.own);
  tiled.moments.patience = patience;
  if (state.norm.has_mean) tiled.column_sums = static_cast<const float*>(args.constants[0].data);
  if (state.turned) {
    const KernelArgs& turner = args.steps[kTurner];
    tiled.turned = *state.turned;
    tiled.turned.cosine = turner.in[1].data;
    tiled.turned.sine = turner.in[2].data;
    tiled.turned.to = turner.out[0].data;
  }
  const auto stream = static_cast<cudaStream_t>(args.stream);
  if (state.tiled.form == TileForm::kAtOnce)
    launch_tile<AtOnceTile<BF16, true>>(p, tiled, stream);
  else
    launch_tile<WideTile<BF16, true>>(p, tiled, stream);
}

constinit const RunKernel normed_product = {.name = "wgmma_tiles",
                                            .knows = knows,
                                            .takes = takes,
                                            .scratch_bytes = scratch_bytes,
                                            .prepare = prepare,
                                            .run = run};

}  // namespace plica::cuda
