#include "ops/cuda/folded_norm.h"
#include "ops/cuda/product_clusters_launch.cuh"
#include "ops/cuda/product_clusters_normed.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"

namespace plica::cuda {
namespace {

enum Place : size_t { kNorm, kProduct, kCount };  // of steps in a run

// By times of an H200: moments of deeper rows take each block longer than the norm takes.
constexpr int kMostDepth = 768;

struct State {
  ClusterState clusters;
  FoldedNorm norm;
};

// What can be one launch of these steps, from the first on.
std::optional<State> find(std::span<const RunStep> steps) {
  if (steps.size() < kCount) return std::nullopt;
  const std::optional<FoldedNorm> norm = folded_norm(steps[kNorm], steps[kProduct]);
  if (!norm) return std::nullopt;
  const RunStep& product = steps[kProduct];
  const std::vector<Operand> in = operands_without_norm(steps[kNorm], product);
  Case c = product.c;
  c.in = in;
  State state;
  state.norm = *norm;
  const auto& op = *static_cast<const ops::MatMul*>(product.attrs);
  if (make_cluster_product(op, c, state.clusters) != nullptr) return std::nullopt;
  if (state.clusters.form != ClusterForm::kDeep || state.clusters.product.k > kMostDepth) return std::nullopt;
  return state;
}

bool knows(const RunStep& step) {
  return step.op == &layer_norm_op || step.op == &rms_norm_op || step.op == &mat_mul_op;
}

size_t takes(std::span<const RunStep> steps) { return find(steps) ? size_t{kCount} : 0; }

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore& constants) {
  const std::optional<State> state = find(steps);
  RunParts parts{.state = std::make_shared<const State>(*state), .constants = {}};
  if (state->norm.has_mean) {
    PLICA_TRY(ConstantPtr sums, column_sums(steps[kProduct].c.in[1].constant, constants));
    parts.constants.push_back(std::move(sums));
  }
  return parts;
}

void run(const RunArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  BlockProduct p = state.clusters.product;
  set_operands(args.steps[kProduct], p);
  p.a = args.steps[kNorm].in[0].data;
  ClusterProduct clusters;
  clusters.eps = state.norm.eps;
  if (state.norm.has_mean) clusters.column_sums = static_cast<const float*>(args.constants[0].data);
  launch_clusters<DeepTile<BF16, true>>(p, clusters, static_cast<cudaStream_t>(args.stream));
}

}  // namespace

constinit const RunKernel clusters_normed = {
    .name = "wgmma_clusters", .knows = knows, .takes = takes, .scratch_bytes = nullptr, .prepare = prepare, .run = run};

}  // namespace plica::cuda
