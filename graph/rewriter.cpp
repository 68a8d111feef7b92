#include "graph/rewriter.h"

#include <cmath>

#include "graph/scalar.h"

namespace plica {
namespace {

bool is_number(const Expression& expression) {
  return expression.kind == Expression::Kind::kNumber || expression.kind == Expression::Kind::kCapture ||
         expression.kind == Expression::Kind::kArithmetic;
}

}  // namespace

Status Rewriter::run() {
  for (const Statement& statement : match_.rule_.replacement) {
    PLICA_TRY(ValueId first, build(statement.expression));
    for (size_t i = 0; i < statement.names.size(); ++i) {
      const NodeId producer = patch_.graph().value(first).producer;
      const ValueId value = i == 0 ? first : patch_.graph().node(producer).outputs[i];
      const int slot = match_.rule_.value_slot(statement.names[i]);
      if (slot >= 0 && match_.rule_.replaced[static_cast<size_t>(slot)]) {
        patch_.replace(match_.values_[static_cast<size_t>(slot)], value);
      }
      made_[statement.names[i]] = value;
    }
  }
  return {};
}

Result<ValueId> Rewriter::build(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::kAbsent: return kNone;
    case Expression::Kind::kCall: return build_call(expression);
    case Expression::Kind::kName:
      if (const auto found = made_.find(expression.text); found != made_.end()) return found->second;
      return match_.value(expression.text);
    default: return Error(Code::kInternal, "a number where a value is wanted");
  }
}

Result<ValueId> Rewriter::build_call(const Expression& expression) {
  const OpDef* op = find_op(expression.text);
  if (op == nullptr) return Error(Code::kInternal, "no operator is called '" + expression.text + "'");
  std::vector<ValueId> inputs;
  for (const Expression& operand : expression.operands) {
    if (is_number(operand)) {
      inputs.push_back(kNone);
      continue;
    }
    PLICA_TRY(ValueId input, build(operand));
    inputs.push_back(input);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_number(expression.operands[i])) continue;
    PLICA_TRY(double number, number_of(expression.operands[i]));
    PLICA_TRY(ConstantPtr constant, scalar_constant(number, dtype_beside(expression, inputs)));
    inputs[i] = patch_.add_constant(std::move(constant));
  }
  PLICA_TRY(Attrs attrs, attrs_of(*op, expression));
  return patch_.add(*op, std::move(attrs), std::move(inputs));
}

DType Rewriter::dtype_beside(const Expression& call, const std::vector<ValueId>& inputs) const {
  for (size_t i = call.text == "Where" ? 1 : 0; i < inputs.size(); ++i)
    if (inputs[i] != kNone) return patch_.graph().type(inputs[i]).dtype;
  return DType::kF32;
}

Result<Attrs> Rewriter::attrs_of(const OpDef& op, const Expression& expression) const {
  std::shared_ptr<void> attrs = op.attrs->clone(nullptr);
  for (const AttrExpression& attr : expression.attrs) {
    size_t field = 0;
    while (field < op.attrs->names.size() && op.attrs->names[field] != attr.name) ++field;
    if (field == op.attrs->names.size())
      return Error(Code::kInternal, expression.text + " has no attribute '" + attr.name + "'");
    AttrValue value;
    if (attr.value) {
      value = *attr.value;
    } else if (attr.expression.kind == Expression::Kind::kCapture) {
      value = match_.attr(attr.expression.text);
    } else {
      PLICA_TRY(value, number_of(attr.expression));
    }
    PLICA_CHECK(op.attrs->set(attrs.get(), field, value));
  }
  return Attrs(op.attrs[0], std::move(attrs));
}

Result<double> Rewriter::number_of(const Expression& expression) const {
  if (expression.kind == Expression::Kind::kNumber) return expression.number;
  if (expression.kind == Expression::Kind::kCapture) return match_.number(expression.text);
  if (expression.kind != Expression::Kind::kArithmetic)
    return Error(Code::kInternal, "a value where a number is wanted");
  PLICA_TRY(double left, number_of(expression.operands[0]));
  PLICA_TRY(double right, number_of(expression.operands[1]));
  switch (expression.text[0]) {
    case '+': return left + right;
    case '-': return left - right;
    case '*': return left * right;
    default: return left / right;
  }
}

}  // namespace plica
