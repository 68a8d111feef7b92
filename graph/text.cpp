#include "graph/text.h"

#include <cctype>
#include <unordered_map>

#include "graph/scalar.h"
#include "graph/syntax.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

constexpr int64_t kMaxInline = 8;

bool is_plain(std::string_view name) {
  if (name.empty() || (std::isalpha(static_cast<unsigned char>(name[0])) == 0 && name[0] != '_')) return false;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') return false;
  return name != "_" && name != "input" && name != "constant" && name != "output";
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), names_(graph.num_values()) {}

  std::string print() {
    for (ValueId id : graph_.inputs()) line("input " + name_of_value(id) + ": " + to_string(graph_.type(id)));
    for (NodeId id : graph_.order()) print_node(graph_.node(id));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      print_constant(graph_.outputs()[i]);
      const std::string value = name_of_value(graph_.outputs()[i]);
      const std::string& name = graph_.output_name(i);
      line(name == value || !is_plain(name) ? "output " + value : "output " + name + " = " + value);
    }
    return std::move(text_);
  }

 private:
  void line(std::string_view text) { text_.append(text).append("\n"); }

  const std::string& name_of_value(ValueId id) {
    std::string& name = names_[static_cast<size_t>(id)];
    if (!name.empty()) return name;
    name = graph_.value(id).name;
    if (!is_plain(name) || !taken_.emplace(name, id).second) name = "%" + std::to_string(id);
    return name;
  }

  void print_constant(ValueId id) {
    if (id == kNone || graph_.constant(id) == nullptr || !names_[static_cast<size_t>(id)].empty()) return;
    const Constant& constant = *graph_.constant(id);
    std::string text = "constant " + name_of_value(id) + ": " + to_string(constant.type);
    const int64_t count = num_elements(constant.type.shape);
    if (count <= kMaxInline && is_dense_constant(constant)) {
      text.append(" = ").append(constant.type.shape.empty() ? "" : "[");
      for (int64_t i = 0; i < count; ++i) text.append(i ? "," : "").append(element_text(constant, i));
      text.append(constant.type.shape.empty() ? "" : "]");
    }
    line(text);
  }

  void print_node(const Node& node) {
    for (ValueId input : node.inputs) print_constant(input);
    size_t count = node.inputs.size();
    while (count > 0 && node.inputs[count - 1] == kNone) --count;
    std::string text;
    for (size_t i = 0; i < node.outputs.size(); ++i) text.append(i ? ", " : "").append(name_of_value(node.outputs[i]));
    text.append(" = ").append(node.op->name).append("(");
    for (size_t i = 0; i < count; ++i)
      text.append(i ? ", " : "").append(node.inputs[i] == kNone ? "_" : name_of_value(node.inputs[i]));
    text.append(")");
    if (std::string attrs = to_string(node.attrs); !attrs.empty()) text.append(" ").append(attrs);
    line(text);
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, ValueId> taken_;
  std::string text_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : cursor_(text) {}

  Result<Graph> parse() {
    while (!cursor_.at_end()) {
      if (cursor_.next_is("input")) {
        PLICA_CHECK(parse_input());
      } else if (cursor_.next_is("constant")) {
        PLICA_CHECK(parse_constant());
      } else if (cursor_.next_is("output")) {
        PLICA_CHECK(parse_output());
      } else {
        PLICA_TRY(Statement statement, cursor_.statement());
        PLICA_CHECK(add_statement(statement));
      }
      if (!cursor_.at_line_end()) return cursor_.error("the end of the line");
    }
    return std::move(graph_);
  }

 private:
  Status parse_declaration(std::string& name, TensorType& type) {
    cursor_.take_word();
    name = cursor_.take_word();
    if (!cursor_.take(':')) return cursor_.error("':' and a type");
    const auto dtype = parse_dtype(cursor_.take_word());
    if (!dtype) return cursor_.error("a dtype");
    type.dtype = *dtype;
    const std::string shape = cursor_.take_word();
    for (size_t at = 0; shape != "scalar" && at <= shape.size();) {
      const size_t end = std::min(shape.find('x', at), shape.size());
      const auto size = parse_number(std::string_view(shape).substr(at, end - at));
      if (!size) return cursor_.error("a shape such as 2x8x32 or 'scalar'");
      type.shape.push_back(static_cast<int64_t>(*size));
      at = end + 1;
    }
    cursor_.skip_blanks();
    return {};
  }

  Status parse_input() {
    std::string name;
    TensorType type;
    PLICA_CHECK(parse_declaration(name, type));
    values_[name] = graph_.add_input(name, type);
    return {};
  }

  Status parse_constant() {
    std::string name;
    TensorType type;
    PLICA_CHECK(parse_declaration(name, type));
    PLICA_TRY(Tensor tensor, Tensor::zeros(type.dtype, type.shape));
    const int64_t count = num_elements(type.shape);
    if (cursor_.take('=')) {
      const bool list = cursor_.take('[');
      for (int64_t i = 0; i < count; ++i) {
        if (i > 0 && !cursor_.take(',')) return cursor_.error("',' and one value an element");
        const auto number = parse_number(cursor_.take_word());
        if (!number) return cursor_.error("a number");
        set_element(tensor, i, *number);
      }
      if (list && !cursor_.take(']')) return cursor_.error("']'");
      cursor_.skip_blanks();
    } else {
      fill(name, tensor);
    }
    values_[name] = graph_.add_constant(make_constant(std::move(tensor)), name);
    return {};
  }

  static void fill(std::string_view name, Tensor& tensor) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    for (int64_t i = 0; i < num_elements(tensor.shape()); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto bits = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
      set_element(tensor, i, is_float(tensor.dtype()) ? 2 * bits - 1 : static_cast<double>(state >> 62));
    }
  }

  Status parse_output() {
    cursor_.take_word();
    const std::string name = cursor_.take_word();
    const std::string value = cursor_.take('=') ? cursor_.take_word() : name;
    const auto found = values_.find(value);
    if (found == values_.end()) return cursor_.error("an output that is defined above, not '" + value + "'");
    graph_.add_output(name, found->second);
    cursor_.skip_blanks();
    return {};
  }

  Status add_statement(const Statement& statement) {
    PLICA_TRY(ValueId first, add(statement.expression));
    const NodeId producer = graph_.value(first).producer;
    for (size_t i = 0; i < statement.names.size(); ++i) {
      ValueId value = first;
      if (i > 0) {
        if (producer == kNone || i >= graph_.node(producer).outputs.size())
          return cursor_.error("as many names as the operator has results, not '" + statement.names[i] + "'");
        value = graph_.node(producer).outputs[i];
      }
      values_[statement.names[i]] = value;
      if (graph_.value(value).name.empty() && statement.names[i][0] != '%') graph_.set_name(value, statement.names[i]);
    }
    return {};
  }

  Result<ValueId> add(const Expression& expression) {
    if (expression.kind == Expression::Kind::kAbsent) return kNone;
    if (expression.kind == Expression::Kind::kName) {
      const auto found = values_.find(expression.text);
      if (found == values_.end()) return cursor_.error("a value that is defined above, not '" + expression.text + "'");
      return found->second;
    }
    if (expression.kind != Expression::Kind::kCall) return cursor_.error("an operator");
    const OpDef* op = find_op(expression.text);
    if (op == nullptr) return cursor_.error("an operator, not '" + expression.text + "'");
    std::vector<ValueId> inputs;
    DType dtype = DType::kF32;
    bool known = false;
    for (const Expression& operand : expression.operands) {
      if (operand.kind == Expression::Kind::kNumber) {
        inputs.push_back(kNone);
        continue;
      }
      PLICA_TRY(ValueId input, add(operand));
      inputs.push_back(input);
      if (input != kNone && !known && !(op->name == "Where" && inputs.size() == 1)) {
        dtype = graph_.type(input).dtype;
        known = true;
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (expression.operands[i].kind != Expression::Kind::kNumber) continue;
      PLICA_TRY(ConstantPtr constant, scalar_constant(expression.operands[i].number, dtype));
      inputs[i] = graph_.add_constant(std::move(constant));
    }
    PLICA_TRY(Attrs attrs, attrs_of(*op, expression));
    PLICA_TRY(NodeId node, graph_.add_node(*op, std::move(attrs), std::move(inputs)));
    return graph_.node(node).outputs[0];
  }

  Result<Attrs> attrs_of(const OpDef& op, const Expression& expression) {
    std::shared_ptr<void> attrs = op.attrs->clone(nullptr);
    for (const AttrExpression& attr : expression.attrs) {
      size_t field = 0;
      while (field < op.attrs->names.size() && op.attrs->names[field] != attr.name) ++field;
      if (field == op.attrs->names.size() || !attr.value)
        return cursor_.error("an attribute of " + expression.text + " and its value, not '" + attr.name + "'");
      PLICA_CHECK(op.attrs->set(attrs.get(), field, *attr.value));
    }
    return Attrs(*op.attrs, std::move(attrs));
  }

  Cursor cursor_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> values_;
};

}  // namespace

std::string to_text(const Graph& graph) { return Printer(graph).print(); }

Result<Graph> parse_graph(std::string_view text) { return Parser(text).parse(); }

}  // namespace plica
