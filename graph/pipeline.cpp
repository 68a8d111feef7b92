#include "graph/pipeline.h"

#include <algorithm>
#include <chrono>

#include "graph/passes/passes.h"

namespace plica {
namespace {

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
    {"fuse_linear", fuse_linear},
    {"merge_projections", merge_projections},
    {"canonicalise_fused", canonicalise},
    {"merge_rotary", merge_rotary},
    {"fold_weights", fold_weights},
    {"expand_scores", expand_scores, true},
    {"fuse_pointwise", fuse_pointwise},
    {"lower_pointwise", lower_pointwise, true},
};

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status check_skip(const std::vector<std::string>& skip) {
  for (const std::string& name : skip) {
    const auto pass =
        std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; });
    if (pass != std::end(kPasses) && !pass->required) continue;
    std::string names;
    for (const Pass& p : kPasses)
      if (!p.required) names.append(names.empty() ? "" : ", ").append(p.name);
    return Error(Code::kInvalidInput, "no pass '" + name + "' can be skipped, wanted one of: " + names);
  }
  return {};
}

}  // namespace

std::span<const Pass> pipeline() { return kPasses; }

Result<PassReport> run_pipeline(Graph& graph, const PipelineOptions& options, ConstantStore& constants) {
  PLICA_CHECK(check_skip(options.skip));
  PassReport report;
  const Clock::time_point start = Clock::now();
  std::vector<Pass> passes(std::begin(kPasses), std::end(kPasses));
  passes.insert(passes.end(), options.extra.begin(), options.extra.end());
  for (const Pass& pass : passes) {
    PassRun run{pass.name};
    const bool skip = std::find(options.skip.begin(), options.skip.end(), pass.name) != options.skip.end();
    run.skipped = !pass.required && (skip || options.reference);
    if (!run.skipped) {
      const Clock::time_point pass_start = Clock::now();
      const std::string doing = "running pass '" + std::string(pass.name) + "'";
      PLICA_TRY(run.num_edits, pass.run(graph, constants).context(doing));
      run.ms = ms_since(pass_start);
      if (options.verify) PLICA_CHECK(graph.verify().context(doing));
    }
    report.passes.push_back(run);
  }
  report.ms = ms_since(start);
  return report;
}

}  // namespace plica
