#include "graph/pipeline.h"

#include <algorithm>
#include <chrono>

#include "graph/passes/passes.h"

namespace plica {
namespace {

// Whether gated products have a kernel that is faster than a product and a step behind it. They are made whole, not in tiles.
bool has_gated_products(const PipelineOptions& options) {
  const Precision precision = options.precision;
  const bool stores_16_bits =
      precision == Precision::kBf16 || precision == Precision::kBf16Mixed || precision == Precision::kF16;
  return options.device == Device::kCuda && options.compute_capability / 10 == 9 && !options.save_memory &&
         (stores_16_bits || precision == Precision::kTf32 || precision == Precision::kTf32x3);
}

// A norm inside would read the residual stream as the product's own type.
bool has_gated_norms(const PipelineOptions& options) {
  return has_gated_products(options) && options.precision != Precision::kBf16Mixed;
}

// Tiles of rows cost a GPU time, which memory may be worth.
bool tiles_rows(const PipelineOptions& options) { return options.device == Device::kCpu || options.save_memory; }

// Strict products in fp32 take so long that a few more launches are lost beside them.
bool cuts_norms(const PipelineOptions& options) {
  const bool is_strict = options.precision == Precision::kFile || options.precision == Precision::kF32;
  return options.device == Device::kCuda && is_strict;
}

// For kernels that norm what they multiply, of bf16 alone; weights are rounded behind it.
bool folds_norms(const PipelineOptions& options) {
  return options.device == Device::kCuda && options.compute_capability / 10 == 9 &&
         options.precision == Precision::kBf16;
}

constexpr Pass kPasses[] = {
    {"remove_dead", remove_dead},
    {"canonicalise", canonicalise},
    {"drop_broadcasts", drop_broadcasts},
    {"merge_equal", merge_equal},
    {"canonicalise_merged", canonicalise},
    {"fuse_norm", fuse_norm},
    {"fuse_activation", fuse_activation},
    {"fuse_rotary", fuse_rotary},
    {"fuse_attention", fuse_attention},
    {"fuse_outer_product_mean", fuse_outer_product_mean},
    {.name = "fuse_gated_product", .run = fuse_gated_product, .when = has_gated_products},
    {"put_channels_first", put_channels_first},
    {.name = "fuse_gated_norm", .run = fuse_gated_norm, .when = has_gated_norms},
    {"fuse_linear", fuse_linear},
    {"merge_projections", merge_projections},
    {"canonicalise_fused", canonicalise},
    {"merge_rotary", merge_rotary},
    {"merge_masks", merge_masks},
    {"expand_scores", expand_scores, true},
    {"widen_half", widen_half, false, Device::kCpu},
    {"fold_weights", fold_weights},
    {.name = "fold_norms", .run = fold_norms, .when = folds_norms},
    {"fuse_pointwise", fuse_pointwise},
    {"lower_pointwise", lower_pointwise, true},
    {"turn_weights", turn_weights, false, Device::kCuda, Precision::kTf32},
    {.name = "tile_rows", .run = tile_rows, .when = tiles_rows},
    {.name = "cut_norms", .run = cut_norms, .when = cuts_norms},
};

constexpr Pass kStoreF32{"store_f32", store_f32}, kStoreBf16{"store_bf16", store_bf16},
    kStoreBf16Mixed{"store_bf16_mixed", store_bf16_mixed}, kStoreF16{"store_f16", store_f16};

// Behind all that knows structures, before element-wise chains become programs: casts become part of them.
constexpr std::string_view kStoringIsBefore = "fuse_pointwise";

// What is found is found by then.
constexpr std::string_view kCountingIsBefore = "tile_rows";

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status check_skip(const std::vector<std::string>& skip) {
  for (const std::string& name : skip) {
    const auto pass =
        std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
    if (name == kRuns || (pass != std::end(kPasses) && !pass->required)) continue;
    std::string names;
    for (const Pass& p : kPasses)
      if (!p.required) names.append(names.empty() ? "" : ", ").append(p.name);
    return Error(Code::kInvalidInput,
                 "no pass '" + name + "' can be skipped, wanted one of: " + names + ", " + std::string(kRuns));
  }
  return {};
}

}  // namespace

std::span<const Pass> pipeline() { return kPasses; }

const Pass* storing_pass(Precision precision) {
  switch (precision) {
    case Precision::kF32:
    case Precision::kTf32:
    case Precision::kTf32x3: return &kStoreF32;
    case Precision::kBf16: return &kStoreBf16;
    case Precision::kBf16Mixed: return &kStoreBf16Mixed;
    case Precision::kF16: return &kStoreF16;
    default: return nullptr;
  }
}

Result<PassReport> run_pipeline(Graph& graph, const PipelineOptions& options, ConstantStore& constants) {
  PLICA_CHECK(check_skip(options.skip));
  PassReport report;
  const Clock::time_point start = Clock::now();
  std::vector<Pass> passes(std::begin(kPasses), std::end(kPasses));
  if (const Pass* storing = storing_pass(options.precision))
    passes.insert(std::find_if(passes.begin(), passes.end(), [](const Pass& p) { return p.name == kStoringIsBefore; }),
                  *storing);
  passes.insert(passes.end(), options.extra.begin(), options.extra.end());
  for (const Pass& pass : passes) {
    if (pass.name == kCountingIsBefore) report.structures = count_structures(graph);
    PassRun run{pass.name};
    const bool skip = std::find(options.skip.begin(), options.skip.end(), pass.name) != options.skip.end();
    const bool elsewhere = pass.device && (*pass.device != options.device || options.precision != pass.precision);
    const bool wanted = pass.when == nullptr || pass.when(options);
    run.skipped = elsewhere || !wanted || (!pass.required && (skip || options.reference));
    if (!run.skipped) {
      const Clock::time_point pass_start = Clock::now();
      const std::string doing = "running pass '" + std::string(pass.name) + "'";
      PLICA_TRY(run.num_edits, pass.run(graph, constants).context(doing));
      run.ms = ms_since(pass_start);
      if (options.verify) PLICA_CHECK(graph.verify().context(doing));
      if (options.watch) options.watch(pass, graph);
    }
    report.passes.push_back(run);
  }
  report.ms = ms_since(start);
  return report;
}

}  // namespace plica
