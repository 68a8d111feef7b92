#include "graph/compiled_rule.h"

#include <algorithm>
#include <map>

namespace plica {
namespace {

int slot_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size() - 1);
}

bool counts_from_end(const std::string& name, const AttrValue& value) {
  if (name == "axis") return std::holds_alternative<int64_t>(value) && std::get<int64_t>(value) < 0;
  if (name != "axes" || !std::holds_alternative<std::vector<int64_t>>(value)) return false;
  const auto& axes = std::get<std::vector<int64_t>>(value);
  return std::any_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; });
}

class Compiler {
 public:
  explicit Compiler(const Rule& rule) { out_.rule = &rule; }

  Result<CompiledRule> run() {
    PLICA_TRY(std::vector<Statement> statements, parse_statements(out_.rule->match));
    for (const Statement& statement : statements) PLICA_CHECK(add_statement(statement));
    for (size_t i = 0; i < out_.nodes.size(); ++i)
      if (!read_[i]) out_.roots.push_back(static_cast<int>(i));
    std::reverse(out_.roots.begin(), out_.roots.end());
    out_.depth = *std::max_element(depths_.begin(), depths_.end());
    PLICA_TRY(out_.replacement, parse_statements(out_.rule->replace));
    PLICA_CHECK(check_replacement());
    return std::move(out_);
  }

 private:
  Error error(std::string what) const {
    return Error(Code::kInternal, "rule '" + std::string(out_.rule->name) + "': " + std::move(what));
  }

  Status add_statement(const Statement& statement) {
    PLICA_TRY(PatternOperand operand, add(statement.expression));
    if (operand.kind != PatternOperand::Kind::kNode) return error("a statement that is no operator");
    PatternNode& node = out_.nodes[static_cast<size_t>(operand.index)];
    for (size_t i = 0; i < statement.names.size(); ++i) {
      operand.output_idx = static_cast<int>(i);
      defined_[statement.names[i]] = operand;
      node.output_slots.push_back(slot_of(out_.values, statement.names[i]));
    }
    return {};
  }

  Result<PatternOperand> add(const Expression& expression) {
    PatternOperand operand;
    operand.optional = expression.optional;
    switch (expression.kind) {
      case Expression::Kind::kAbsent: operand.kind = PatternOperand::Kind::kAbsent; return operand;
      case Expression::Kind::kNumber:
        operand.kind = PatternOperand::Kind::kNumber;
        operand.number = expression.number;
        return operand;
      case Expression::Kind::kCapture:
        operand.kind = PatternOperand::Kind::kScalar;
        operand.index = slot_of(out_.captures, expression.text);
        return operand;
      case Expression::Kind::kName:
        if (const auto found = defined_.find(expression.text); found != defined_.end()) {
          read_[static_cast<size_t>(found->second.index)] = true;
          return found->second;
        }
        operand.index = slot_of(out_.values, expression.text);
        return operand;
      case Expression::Kind::kArithmetic: return error("arithmetic in its match");
      case Expression::Kind::kCall: break;
    }
    PatternNode node;
    node.op = find_op(expression.text);
    if (node.op == nullptr) return error("no operator is called '" + expression.text + "'");
    int depth = 0;
    for (const Expression& input : expression.operands) {
      PLICA_TRY(PatternOperand read, add(input));
      if (read.kind == PatternOperand::Kind::kNode) {
        read_[static_cast<size_t>(read.index)] = true;
        depth = std::max(depth, depths_[static_cast<size_t>(read.index)]);
      }
      node.operands.push_back(read);
    }
    PLICA_CHECK(add_attrs(expression, node));
    operand.kind = PatternOperand::Kind::kNode;
    operand.index = static_cast<int>(out_.nodes.size());
    out_.nodes.push_back(std::move(node));
    read_.push_back(false);
    depths_.push_back(depth + 1);
    return operand;
  }

  Status add_attrs(const Expression& expression, PatternNode& node) {
    const AttrsDef& def = *node.op->attrs;
    std::shared_ptr<void> fixed = def.clone(nullptr);
    bool is_fixed = true;
    for (const AttrExpression& attr : expression.attrs) {
      const auto field =
          static_cast<size_t>(std::find(def.names.begin(), def.names.end(), attr.name) - def.names.begin());
      if (field == def.names.size()) return error(expression.text + " has no attribute '" + attr.name + "'");
      AttrTest test;
      test.field = field;
      if (attr.value) {
        test.value = *attr.value;
        test.from_end = counts_from_end(attr.name, test.value);
        if (!test.from_end) PLICA_CHECK(def.set(fixed.get(), field, test.value));
        if (!test.from_end) test.value = def.get(fixed.get(), field);
      } else if (attr.expression.kind == Expression::Kind::kCapture) {
        test.capture = slot_of(out_.captures, attr.expression.text);
      } else {
        return error("attribute '" + attr.name + "' is neither a value nor a capture");
      }
      is_fixed = is_fixed && test.capture < 0 && !test.from_end;
      node.tests.push_back(std::move(test));
    }
    if (is_fixed) {
      node.tests.clear();
      node.fixed = Attrs(def, fixed);
      return {};
    }
    for (size_t field = 0; field < def.names.size(); ++field) {
      const bool listed =
          std::any_of(node.tests.begin(), node.tests.end(), [&](const AttrTest& t) { return t.field == field; });
      if (!listed) node.tests.push_back({field, -1, def.get(fixed.get(), field), false});
    }
    return {};
  }

  // Captures that only `when` gives get their slots here.
  void add_captures(const Expression& expression) {
    if (expression.kind == Expression::Kind::kCapture) slot_of(out_.captures, expression.text);
    for (const Expression& operand : expression.operands) add_captures(operand);
    for (const AttrExpression& attr : expression.attrs)
      if (!attr.value) add_captures(attr.expression);
  }

  Status check_replacement() {
    const size_t num_bound = out_.captures.size();
    for (const Statement& statement : out_.replacement) add_captures(statement.expression);
    if (out_.captures.size() > num_bound && out_.rule->when == nullptr)
      return error("nothing gives " + out_.captures[num_bound]);
    out_.replaced.assign(out_.values.size(), false);
    bool any = false;
    for (const Statement& statement : out_.replacement)
      for (const std::string& name : statement.names)
        if (defined_.count(name) != 0) any = out_.replaced[static_cast<size_t>(out_.value_slot(name))] = true;
    for (int root : out_.roots) {
      bool kept = false;
      for (int slot : out_.nodes[static_cast<size_t>(root)].output_slots)
        kept = kept || out_.replaced[static_cast<size_t>(slot)];
      if (!kept) return error("its replacement does not define a root of its match");
    }
    return any ? Status{} : error("nothing is replaced");
  }

  CompiledRule out_;
  std::map<std::string, PatternOperand> defined_;
  std::vector<bool> read_;
  std::vector<int> depths_;
};

int find_name(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

}  // namespace

int CompiledRule::value_slot(std::string_view name) const { return find_name(values, name); }
int CompiledRule::capture_slot(std::string_view name) const { return find_name(captures, name); }

Result<CompiledRule> compile(const Rule& rule) {
  return Compiler(rule).run().context("reading rule '" + std::string(rule.name) + "'");
}

}  // namespace plica
