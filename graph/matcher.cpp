#include "graph/matcher.h"

#include <algorithm>

#include "graph/rewriter.h"
#include "graph/scalar.h"

namespace plica {
namespace {

constexpr ValueId kUnbound = -2;
constexpr size_t kMaxOperands = 8;

// Whether an attribute is what the pattern says, axes below zero counting from the end of `rank`.
bool is_wanted(const AttrTest& test, const AttrValue& found, int64_t rank) {
  if (!test.from_end) return test.value == found;
  if (auto* axis = std::get_if<int64_t>(&test.value)) return AttrValue(*axis + rank) == found;
  std::vector<int64_t> axes = std::get<std::vector<int64_t>>(test.value);
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return AttrValue(std::move(axes)) == found;
}

}  // namespace

Match::Match(const Graph& graph, const CompiledRule& rule)
    : graph_(graph),
      rule_(rule),
      values_(rule.values.size(), kUnbound),
      captures_(rule.captures.size()),
      nodes_(rule.nodes.size(), kNone) {}

ValueId Match::value(std::string_view name) const {
  const int slot = rule_.value_slot(name);
  const ValueId value = slot < 0 ? kNone : values_[static_cast<size_t>(slot)];
  return value == kUnbound ? kNone : value;
}

const AttrValue& Match::attr(std::string_view capture) const {
  static const AttrValue kZero = int64_t{0};
  const int slot = rule_.capture_slot(capture);
  return slot < 0 || !captures_[static_cast<size_t>(slot)] ? kZero : *captures_[static_cast<size_t>(slot)];
}

double Match::number(std::string_view capture) const {
  const AttrValue& value = attr(capture);
  if (auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

const std::vector<int64_t>& Match::list(std::string_view capture) const {
  return std::get<std::vector<int64_t>>(attr(capture));
}

void Match::set(std::string_view capture, AttrValue value) {
  const int slot = rule_.capture_slot(capture);
  if (slot >= 0) captures_[static_cast<size_t>(slot)] = std::move(value);
}

bool Matcher::rewrite(NodeId root, std::vector<NodeId>& touched) {
  touched_ = &touched;
  num_roots_ = 1;
  return enter(rule_.roots[0], root, nullptr);
}

Attempt Matcher::attempt(NodeId root) {
  Attempt made;
  attempt_ = &made;
  num_roots_ = 1;
  enter(rule_.roots[0], root, nullptr);
  return made;
}

void Matcher::note(std::string why, ValueId instead) {
  std::vector<NodeId> nodes;
  for (NodeId id : match_.nodes_)
    if (id != kNone) nodes.push_back(id);
  if (nodes.size() <= attempt_->nodes.size()) return;
  *attempt_ = {std::move(nodes), instead < 0 ? kNone : graph_.value(instead).producer, std::move(why)};
}

// "Mul '/layer/Mul_3'", "a constant f32 64", "input 'mask'"
std::string Matcher::describe(ValueId id) const {
  if (id == kNone) return "nothing";
  const Value& value = graph_.value(id);
  if (value.constant != nullptr) {
    const auto number = uniform_value(*value.constant);
    return number ? to_string(AttrValue(*number)) : "a constant " + to_string(value.type);
  }
  if (value.producer == kNone) return "input '" + value.name + "'";
  const Node& node = graph_.node(value.producer);
  return std::string(node.op->name) + " '" + (node.name.empty() ? value.name : node.name) + "'";
}

// "x = f32 2x8, g = f32 3": the values that the rule has names for and does not make.
std::string Matcher::describe_operands() const {
  std::string text;
  for (size_t i = 0; i < rule_.values.size(); ++i) {
    if (match_.values_[i] < 0) continue;
    text.append(text.empty() ? "" : ", ").append(rule_.values[i]).append(" = ");
    text.append(to_string(graph_.type(match_.values_[i])));
  }
  return text;
}

bool Matcher::solve(const Goal* goal) {
  if (goal == nullptr) return next_root();
  switch (goal->operand->kind) {
    case PatternOperand::Kind::kAbsent:
      if (goal->value == kNone) return solve(goal->next);
      return refuse([&] { return "found " + describe(goal->value) + ", wanted nothing there"; }, goal->value);
    case PatternOperand::Kind::kValue: return solve_value(*goal);
    case PatternOperand::Kind::kScalar: return solve_scalar(*goal);
    case PatternOperand::Kind::kNumber: {
      const Constant* constant = graph_.constant(goal->value);
      if (constant != nullptr && is_uniform(*constant, goal->operand->number)) return solve(goal->next);
      const auto wanted = [&] { return to_string(AttrValue(goal->operand->number)); };
      return refuse([&] { return "found " + describe(goal->value) + ", wanted the number " + wanted(); }, goal->value);
    }
    case PatternOperand::Kind::kNode: return solve_node(*goal);
  }
  return false;
}

bool Matcher::solve_value(const Goal& goal) {
  const std::string& name = rule_.values[static_cast<size_t>(goal.operand->index)];
  if (goal.value == kNone && !goal.operand->optional)
    return refuse([&] { return "found nothing, wanted a value for " + name; });
  ValueId& bound = match_.values_[static_cast<size_t>(goal.operand->index)];
  if (bound != kUnbound && bound != goal.value)
    return refuse([&] { return "found " + describe(goal.value) + ", wanted " + name + ", " + describe(bound); },
                  goal.value);
  if (bound != kUnbound) return solve(goal.next);
  bound = goal.value;
  if (solve(goal.next)) return true;
  bound = kUnbound;
  return false;
}

bool Matcher::solve_scalar(const Goal& goal) {
  const Constant* constant = graph_.constant(goal.value);
  const auto number = constant == nullptr ? std::nullopt : uniform_value(*constant);
  if (!number) return refuse([&] { return "found " + describe(goal.value) + ", wanted a number"; }, goal.value);
  std::optional<AttrValue>& bound = match_.captures_[static_cast<size_t>(goal.operand->index)];
  if (bound && *bound != AttrValue(*number))
    return refuse([&] { return "found " + describe(goal.value) + ", wanted " + to_string(*bound) + " as before"; });
  if (bound) return solve(goal.next);
  bound = *number;
  if (solve(goal.next)) return true;
  bound.reset();
  return false;
}

bool Matcher::solve_node(const Goal& goal) {
  const PatternNode& pattern = rule_.nodes[static_cast<size_t>(goal.operand->index)];
  const NodeId producer = graph_.producer_of(goal.value, *pattern.op);
  if (producer == kNone || graph_.value(goal.value).output_idx != goal.operand->output_idx)
    return refuse([&] { return "found " + describe(goal.value) + ", wanted " + std::string(pattern.op->name); },
                  goal.value);
  const NodeId bound = match_.nodes_[static_cast<size_t>(goal.operand->index)];
  if (bound != kNone && bound != producer)
    return refuse([&] { return "found " + describe(goal.value) + ", wanted the same node as before"; }, goal.value);
  if (bound != kNone) return solve(goal.next);
  return enter(goal.operand->index, producer, goal.next);
}

// Binds a pattern node to a node of the graph and goes on with its operands, then with `next`.
bool Matcher::enter(int pattern_node, NodeId id, const Goal* next) {
  const PatternNode& pattern = rule_.nodes[static_cast<size_t>(pattern_node)];
  const Node& node = graph_.node(id);
  if (node.op != pattern.op || pattern.output_slots.size() > node.outputs.size()) return false;
  std::vector<int> bound;
  bool matches = test_attrs(pattern, node, bound);
  if (matches) {
    match_.nodes_[static_cast<size_t>(pattern_node)] = id;
    for (size_t i = 0; i < pattern.output_slots.size(); ++i)
      match_.values_[static_cast<size_t>(pattern.output_slots[i])] = node.outputs[i];
    matches = solve_operands(pattern, node, next);
    if (matches) return true;
    for (int slot : pattern.output_slots) match_.values_[static_cast<size_t>(slot)] = kUnbound;
    match_.nodes_[static_cast<size_t>(pattern_node)] = kNone;
  }
  for (int capture : bound) match_.captures_[static_cast<size_t>(capture)].reset();
  return false;
}

bool Matcher::solve_operands(const PatternNode& pattern, const Node& node, const Goal* next) {
  const size_t count = pattern.operands.size();
  if (count > kMaxOperands || count > node.inputs.size()) return false;
  if (pattern.op->variadic() && count != node.inputs.size()) return false;
  for (size_t i = count; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kNone) return false;
  Goal goals[kMaxOperands];
  for (size_t i = 0; i < count; ++i)
    goals[i] = {&pattern.operands[i], node.inputs[i], i + 1 < count ? &goals[i + 1] : next};
  const bool swappable = pattern.op->commutative && count == 2 && node.inputs[0] != node.inputs[1];
  if (solve(count == 0 ? next : goals)) return true;
  if (!swappable) return false;  // `node` may have moved: a refused replacement adds nodes for a while
  std::swap(goals[0].value, goals[1].value);
  return solve(goals);
}

bool Matcher::test_attrs(const PatternNode& pattern, const Node& node, std::vector<int>& bound) {
  if (pattern.tests.empty()) return pattern.fixed == node.attrs;
  const ValueId first = node.inputs.empty() ? kNone : node.inputs[0];
  const auto rank = static_cast<int64_t>(first == kNone ? 0 : graph_.type(first).shape.size());
  for (const AttrTest& test : pattern.tests) {
    AttrValue found = pattern.op->attrs->get(node.attrs.get(), test.field);
    const auto refuse_attr = [&](const AttrValue& wanted) {
      return refuse(
          [&] {
            return "found " + describe(node.outputs[0]) + " with " + std::string(node.op->attrs->names[test.field]) +
                   "=" + to_string(found) + ", wanted " + to_string(wanted);
          },
          node.outputs[0]);
    };
    if (test.capture < 0) {
      if (!is_wanted(test, found, rank)) return refuse_attr(test.value);
      continue;
    }
    std::optional<AttrValue>& slot = match_.captures_[static_cast<size_t>(test.capture)];
    if (slot && *slot != found) return refuse_attr(*slot);
    if (slot) continue;
    slot = std::move(found);
    bound.push_back(test.capture);
  }
  return true;
}

// Goes on with the next root: tried at every node of its operator that reads, directly or through others, what has been
// matched so far.
bool Matcher::next_root() {
  if (num_roots_ == rule_.roots.size()) return accept();
  const int root = rule_.roots[num_roots_];
  std::vector<NodeId> level, seen;
  for (ValueId value : match_.values_)
    if (value >= 0 && graph_.constant(value) == nullptr)
      for (NodeId user : graph_.value(value).users) level.push_back(user);
  ++num_roots_;
  for (int depth = 0; depth < rule_.depth && !level.empty(); ++depth) {
    std::vector<NodeId> above;
    for (NodeId id : level) {
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      const bool taken = std::find(match_.nodes_.begin(), match_.nodes_.end(), id) != match_.nodes_.end();
      if (!taken && enter(root, id, nullptr)) return true;
      for (ValueId output : graph_.node(id).outputs)
        for (NodeId user : graph_.value(output).users) above.push_back(user);
    }
    level = std::move(above);
  }
  --num_roots_;
  return false;
}

bool Matcher::accept() {
  if (const ValueId inner = rule_.rule->shares ? kNone : escaping(); inner != kNone)
    return refuse([&] { return describe(inner) + " is used outside as well, or is an output"; }, inner);
  if (rule_.rule->when != nullptr) {
    const std::vector<std::optional<AttrValue>> captures = match_.captures_;
    const bool holds = rule_.rule->when(match_);
    if (!holds || attempt_ != nullptr) match_.captures_ = captures;
    if (!holds) return refuse([&] { return "its condition does not hold for " + describe_operands(); });
  }
  if (would_loop()) return refuse([&] { return "what it puts in place would read its own result"; });
  if (attempt_ != nullptr)
    return refuse([] { return "it matches, but what it would put in place does not fit, or another rule was first"; });
  return replace();
}

// A value between nodes of the match that somebody else needs too; kNone where there is none.
ValueId Matcher::escaping() const {
  for (size_t i = 0; i < rule_.nodes.size(); ++i) {
    const PatternNode& pattern = rule_.nodes[i];
    if (pattern.op->is_view) continue;
    const Node& node = graph_.node(match_.nodes_[i]);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const bool replaced =
          k < pattern.output_slots.size() && rule_.replaced[static_cast<size_t>(pattern.output_slots[k])];
      if (replaced) continue;
      if (graph_.is_output(node.outputs[k])) return node.outputs[k];
      for (NodeId user : graph_.value(node.outputs[k]).users)
        if (std::find(match_.nodes_.begin(), match_.nodes_.end(), user) == match_.nodes_.end()) return node.outputs[k];
    }
  }
  return kNone;
}

// Where several values are replaced, none may feed an operand of the match from outside: the new nodes could then read
// what they make.
bool Matcher::would_loop() const {
  std::vector<NodeId> replaced;
  std::vector<bool> is_made(rule_.values.size(), false);
  for (size_t i = 0; i < rule_.nodes.size(); ++i)
    for (int slot : rule_.nodes[i].output_slots) {
      is_made[static_cast<size_t>(slot)] = true;
      if (rule_.replaced[static_cast<size_t>(slot)]) replaced.push_back(match_.nodes_[i]);
    }
  if (replaced.size() < 2) return false;
  std::vector<NodeId> pending;
  std::vector<bool> seen(graph_.num_nodes(), false);
  const auto visit = [&](ValueId value) {
    const NodeId producer = value < 0 ? kNone : graph_.value(value).producer;
    if (producer == kNone || seen[static_cast<size_t>(producer)]) return;
    seen[static_cast<size_t>(producer)] = true;
    pending.push_back(producer);
  };
  for (size_t slot = 0; slot < is_made.size(); ++slot)
    if (!is_made[slot]) visit(match_.values_[slot]);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (std::find(replaced.begin(), replaced.end(), id) != replaced.end()) return true;
    for (ValueId input : graph_.node(id).inputs) visit(input);
  }
  return false;
}

bool Matcher::replace() {
  const Node& root = graph_.node(match_.nodes_[static_cast<size_t>(rule_.roots[0])]);
  Patch patch(graph_, root.name);
  if (!Rewriter(match_, patch).run() || !patch.fits()) return false;
  for (const auto& [from, to] : patch.replacements())
    if (from == to) return false;
  for (const auto& [from, to] : patch.replacements())
    for (NodeId user : graph_.value(from).users) touched_->push_back(user);
  touched_->insert(touched_->end(), patch.added().begin(), patch.added().end());
  if (!patch.apply()) return false;
  for (ValueId value : match_.values_)
    if (value >= 0 && graph_.constant(value) == nullptr)
      for (NodeId user : graph_.value(value).users) touched_->push_back(user);
  return true;
}

}  // namespace plica
