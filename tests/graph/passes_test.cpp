#include "graph/passes/passes.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/passes/rules.h"
#include "graph/pipeline.h"
#include "graph/text.h"
#include "tests/graph/evaluate_graph.h"

namespace plica {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(PLICA_SOURCE_DIR) / "tests" / "passes";

constexpr Precision kStoring[] = {Precision::kF32, Precision::kBf16, Precision::kBf16Mixed, Precision::kF16};

// tests/passes/<pass>/<rule>.txt: pairs of `before:` and `after:`, and `unchanged:` graphs. Where <rule> names no rule
// of the pass, the whole pass runs.
struct Section {
  std::string before, after;
};

std::vector<Section> read_sections(const fs::path& path) {
  std::vector<Section> sections;
  std::string* into = nullptr;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line == "before:") {
      into = &sections.emplace_back().before;
    } else if (line == "after:") {
      into = &sections.back().after;
    } else if (line == "unchanged:") {
      into = &sections.emplace_back().before;
    } else if (into != nullptr) {
      into->append(line).append("\n");
    }
  }
  return sections;
}

// The graph written anew from its outputs, so that two equal ones have equal text whatever their histories.
class Rewriting {
 public:
  explicit Rewriting(const Graph& from) : from_(from), to_of_(from.num_values(), kNone) {}

  std::string text() {
    for (ValueId id : from_.inputs())
      to_of_[static_cast<size_t>(id)] = to_.add_input(from_.value(id).name, from_.type(id));
    for (size_t i = 0; i < from_.outputs().size(); ++i) to_.add_output(from_.output_name(i), copy(from_.outputs()[i]));
    return to_text(to_);
  }

 private:
  ValueId copy(ValueId id) {
    if (id == kNone) return kNone;
    ValueId made = to_of_[static_cast<size_t>(id)];
    if (made != kNone) return made;
    if (from_.constant(id) != nullptr) {
      made = to_.add_constant(from_.value(id).constant);
    } else {
      const Node& node = from_.node(from_.value(id).producer);
      std::vector<ValueId> inputs;
      for (ValueId input : node.inputs) inputs.push_back(copy(input));
      const auto added = to_.add_node(*node.op, node.attrs, inputs);
      EXPECT_TRUE(added);
      for (size_t i = 0; i < node.outputs.size(); ++i)
        to_of_[static_cast<size_t>(node.outputs[i])] = to_.node(*added).outputs[i];
      return to_of_[static_cast<size_t>(id)];
    }
    return to_of_[static_cast<size_t>(id)] = made;
  }

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> to_of_;
};

std::string text_of(const Graph& graph) { return Rewriting(graph).text(); }

Graph parsed(const std::string& text, const fs::path& path) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << path << ": " << to_string(graph.error());
  return graph ? *std::move(graph) : Graph();
}

const Rule* find_rule(std::string_view pass, std::string_view name) {
  for (const RuleTable& table : rule_tables())
    for (const Rule& rule : table.rules)
      if (table.pass == pass && rule.name == name) return &rule;
  return nullptr;
}

void run(const fs::path& path, Graph& graph) {
  const std::string pass = path.parent_path().filename(), name = path.stem();
  if (const Rule* rule = find_rule(pass, name)) {
    auto rules = RuleSet::parse({rule, 1});
    ASSERT_TRUE(rules) << to_string(rules.error());
    auto num_applied = rules->apply(graph);
    ASSERT_TRUE(num_applied) << to_string(num_applied.error());
  } else {
    ConstantStore constants;
    std::vector<Pass> passes(pipeline().begin(), pipeline().end());
    for (const Precision precision : kStoring) passes.push_back(*storing_pass(precision));
    bool found = false;
    for (const Pass& p : passes)
      if (p.name == pass) {
        auto edits = p.run(graph, constants);
        ASSERT_TRUE(edits) << to_string(edits.error());
        found = true;
      }
    ASSERT_TRUE(found) << path << ": no pass is called '" << pass << "'";
  }
  auto valid = graph.verify();
  ASSERT_TRUE(valid) << path << ": " << to_string(valid.error());
}

void expect_equal_results(const std::string& before, const Graph& after, const fs::path& path) {
  const Graph graph = parsed(before, path);
  auto inputs = test::random_inputs(graph);
  auto wanted = test::evaluate_graph(graph, *inputs), found = test::evaluate_graph(after, *inputs);
  ASSERT_TRUE(wanted) << path << ": " << to_string(wanted.error());
  ASSERT_TRUE(found) << path << ": " << to_string(found.error());
  for (size_t i = 0; i < wanted->size(); ++i) {
    const DType dtype = (*wanted)[i].dtype();
    const bool short_floats =
        dtype == DType::kF16 || dtype == DType::kBF16 || path.string().find("store_") != std::string::npos;
    const double tolerance = short_floats ? 2e-2 : 2e-5;
    EXPECT_LE(test::difference((*found)[i], (*wanted)[i]), tolerance) << path << ", output " << i << " of\n" << before;
  }
}

TEST(Passes, RewriteAsTheirFilesSay) {
  size_t num_sections = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".txt") continue;
    for (const Section& section : read_sections(entry.path())) {
      Graph graph = parsed(section.before, entry.path());
      const std::string before = text_of(graph);
      run(entry.path(), graph);
      const bool changes = !section.after.empty();
      EXPECT_EQ(text_of(graph), changes ? text_of(parsed(section.after, entry.path())) : before) << entry.path();
      expect_equal_results(section.before, graph, entry.path());
      ++num_sections;
    }
  }
  EXPECT_GT(num_sections, 100u);
}

TEST(Passes, EveryRuleHasAFileWithANearMiss) {
  for (const RuleTable& table : rule_tables())
    for (const Rule& rule : table.rules) {
      const fs::path path = kFolder / table.pass / (std::string(rule.name) + ".txt");
      ASSERT_TRUE(fs::exists(path)) << "rule '" << rule.name << "' has no " << path;
      bool changes = false, near_miss = false;
      for (const Section& section : read_sections(path)) (section.after.empty() ? near_miss : changes) = true;
      EXPECT_TRUE(changes && near_miss) << path << " wants a before, an after and an unchanged";
    }
}

TEST(Passes, RulesAreValidAndNamedOnce) {
  for (const RuleTable& table : rule_tables()) {
    auto rules = RuleSet::parse(table.rules);
    EXPECT_TRUE(rules) << to_string(rules.error());
    for (const Rule& rule : table.rules) EXPECT_EQ(find_rule(table.pass, rule.name), &rule) << rule.name;
  }
}

}  // namespace
}  // namespace plica
