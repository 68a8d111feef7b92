#include "tools/explain_why.h"

#include <algorithm>
#include <vector>

#include "graph/near_miss.h"
#include "graph/passes/rules.h"
#include "graph/pipeline.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr size_t kMostShown = 8;

struct Found {
  std::string pass;
  NearMiss miss;
};

// "Softmax", "Mul and Cast"; empty where the graph has no node of the name.
std::string operators_of(const Graph& graph, const std::string& node_name) {
  std::string text;
  for (NodeId id : graph.order())
    if (is_named(graph, id, node_name)) text.append(text.empty() ? "" : " and ").append(graph.node(id).op->name);
  return text;
}

// The passes that run several times have numbered names; their rules are those of the first.
bool is_pass_of(const RuleTable& table, std::string_view pass) {
  return pass.substr(0, table.pass.size()) == table.pass;
}

// Follows one node through the passes.
class Follower {
 public:
  explicit Follower(std::string node_name) : node_name_(std::move(node_name)) {}

  void begin(const Graph& graph) { now_ = operators_of(graph, node_name_); }
  bool is_known() const { return !now_.empty() || !text_.empty(); }

  Status look(const Pass& pass, Graph& graph) {
    const std::string before = std::exchange(now_, operators_of(graph, node_name_));
    if (before != now_)
      text_ += "pass " + std::string(pass.name) + ": " + (before.empty() ? "nothing" : before) + " became " +
               (now_.empty() ? "part of another node" : now_) + "\n";
    if (now_.empty()) return {};
    for (const RuleTable& table : rule_tables()) {
      if (!is_pass_of(table, pass.name)) continue;
      PLICA_TRY(std::vector<NearMiss> misses, near_misses(graph, table.rules, node_name_));
      for (NearMiss& miss : misses) keep({std::string(table.pass), std::move(miss)});
    }
    return {};
  }

  std::string text() const {
    std::string text = text_;
    if (!now_.empty()) text += "in the plan: " + now_ + "\n";
    std::vector<Found> found = found_;
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return a.miss.num_matched * b.miss.num_wanted > b.miss.num_matched * a.miss.num_wanted;
    });
    found.resize(std::min(found.size(), kMostShown));
    for (const Found& f : found)
      text += "rule " + f.pass + "/" + std::string(f.miss.rule) + ": " + std::to_string(f.miss.num_matched) + " of " +
              std::to_string(f.miss.num_wanted) + " nodes; " + f.miss.why + "\n";
    return text;
  }

 private:
  void keep(Found found) {
    const auto same = std::find_if(found_.begin(), found_.end(), [&](const Found& f) {
      return f.pass == found.pass && f.miss.rule == found.miss.rule;
    });
    if (same == found_.end())
      found_.push_back(std::move(found));
    else if (found.miss.num_matched > same->miss.num_matched)
      *same = std::move(found);
  }

  std::string node_name_, now_, text_;
  std::vector<Found> found_;
};

}  // namespace

Result<std::string> explain_why(const Model::State& model, const Signature& signature, const std::string& node_name) {
  PLICA_TRY(auto specialised, model.source.specialise(signature));
  auto* graph = std::get_if<Graph>(&specialised);
  if (graph == nullptr) return Error(Code::kUnsupported, std::get<NeedsValues>(specialised).why);
  Follower follower(node_name);
  follower.begin(*graph);
  if (!follower.is_known())
    return Error(
        Code::kInvalidInput,
        "no node '" + node_name + "' computes anything at these shapes, wanted a node of the file that is not folded");
  Status status;
  PipelineOptions options;
  options.device = model.context->traits().device;
  options.compute_capability = model.context->traits().compute_capability;
  options.precision = model.options.precision;
  options.skip = model.options.skip_passes;
  options.watch = [&](const Pass& pass, Graph& seen) {
    if (status) status = follower.look(pass, seen);
  };
  ConstantStore constants;
  PLICA_CHECK(run_pipeline(*graph, options, constants));
  PLICA_CHECK(std::move(status));
  return follower.text();
}

}  // namespace plica
