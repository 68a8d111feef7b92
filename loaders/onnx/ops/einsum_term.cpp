#include "loaders/onnx/ops/einsum_term.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "loaders/onnx/lowering.h"

namespace plica::onnx {
namespace {

constexpr Label kEllipsis = 1000;

bool contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The labels of one operand; `under` axes stand for "...".
Result<Labels> parse_labels(const std::string& text, int64_t under) {
  Labels labels;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0 && !seen) {
      for (int64_t k = under; k-- > 0;) labels.push_back(kEllipsis + static_cast<Label>(k));
      seen = true;
      i += 2;
    } else {
      return invalid_model("term '" + text + "' holds '" + text.substr(i, 1) + "', wanted letters and at most one ...");
    }
  }
  return labels;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  return parts;
}

// Without "->": the axes under "...", then the letters that occur once, in the order of the alphabet.
Labels implied_result(const std::vector<Labels>& operands) {
  std::map<Label, int> count;
  for (const Labels& operand : operands)
    for (const Label label : operand) ++count[label];
  Labels result;
  for (auto at = count.rbegin(); at != count.rend(); ++at)
    if (at->first >= kEllipsis) result.push_back(at->first);
  for (const auto& [label, times] : count)
    if (label < kEllipsis && times == 1) result.push_back(label);
  return result;
}

}  // namespace

Result<Equation> parse_equation(const std::string& text, const std::vector<int64_t>& ranks) {
  std::string dense;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c))) dense.push_back(c);
  const size_t arrow = dense.find("->");
  const std::vector<std::string> terms = split(dense.substr(0, arrow), ',');
  if (terms.size() != ranks.size())
    return invalid_model("equation '" + text + "' has " + std::to_string(terms.size()) + " terms for " +
                         std::to_string(ranks.size()) + " operands");
  Equation equation;
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find("...") != std::string::npos;
    const auto letters = static_cast<int64_t>(terms[i].size()) - (open ? 3 : 0);
    const int64_t under = ranks[i] - letters;
    if (open ? under < 0 : under != 0)
      return invalid_model("term '" + terms[i] + "' of equation '" + text + "' does not fit operand " +
                           std::to_string(i) + " of rank " + std::to_string(ranks[i]));
    widest = std::max(widest, under);
    PLICA_TRY(equation.operands.emplace_back(), parse_labels(terms[i], under));
  }
  if (arrow == std::string::npos) {
    equation.result = implied_result(equation.operands);
    return equation;
  }
  PLICA_TRY(equation.result, parse_labels(dense.substr(arrow + 2), widest));
  for (const Label label : equation.result) {
    const auto has = [&](const Labels& operand) { return contains(operand, label); };
    if (std::none_of(equation.operands.begin(), equation.operands.end(), has) ||
        std::count(equation.result.begin(), equation.result.end(), label) != 1)
      return invalid_model("equation '" + text + "': a label of the result is in no term, or twice in the result");
  }
  return equation;
}

bool Term::has(Label label) const { return contains(labels, label); }

size_t Term::at(Label label) const {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

Result<Id> Contraction::arrange(const Term& term, const Labels& order) {
  std::vector<int64_t> perm;
  for (const Label label : order) perm.push_back(static_cast<int64_t>(term.at(label)));
  return n_.transpose(term.value, std::move(perm));
}

// Both axes moved to the end, n x n seen as n n, every (n + 1)-th element taken.
Result<Term> Contraction::take_diagonals(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const Label label = term.labels[i];
    const auto twin = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end(), label);
    if (twin == term.labels.end()) continue;
    const auto k = static_cast<size_t>(twin - term.labels.begin());
    Shape shape = n_.shape(term.value);
    if (shape[i] != shape[k])
      return invalid_model("a label stands twice in one term, for sizes " + std::to_string(shape[i]) + " and " +
                           std::to_string(shape[k]));
    const int64_t size = shape[i];
    std::vector<int64_t> perm;
    Labels rest;
    Shape flat;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis == i || axis == k) continue;
      perm.push_back(static_cast<int64_t>(axis));
      rest.push_back(term.labels[axis]);
      flat.push_back(shape[axis]);
    }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(k));
    rest.push_back(label);
    flat.push_back(size * size);
    const auto last = static_cast<int64_t>(flat.size()) - 1;
    PLICA_TRY(term.value, n_.slice(n_.reshape(n_.transpose(term.value, perm), flat), last, 0, size, size + 1));
    term.labels = std::move(rest);
    i = static_cast<size_t>(-1);
  }
  return term;
}

Result<Term> Contraction::sum_out(Term term, const Labels& labels) {
  std::vector<int64_t> axes;
  Labels rest;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(labels, term.labels[i]))
      axes.push_back(static_cast<int64_t>(i));
    else
      rest.push_back(term.labels[i]);
  }
  PLICA_TRY(term.value, n_.reduce(ops::ReduceKind::kSum, term.value, axes, false));
  term.labels = std::move(rest);
  return term;
}

Result<Term> Contraction::drop_ones(Term term, const Term& other) {
  const Shape shape = n_.shape(term.value);
  Shape kept;
  Labels rest;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Label label = term.labels[i];
    if (shape[i] == 1 && other.has(label) && n_.size(other.value, static_cast<int64_t>(other.at(label))) != 1) continue;
    kept.push_back(shape[i]);
    rest.push_back(label);
  }
  PLICA_TRY(term.value, n_.reshape(term.value, std::move(kept)));
  term.labels = std::move(rest);
  return term;
}

// Nothing to sum: an element-wise product of aligned axes.
Result<Term> Contraction::outer(const Term& a, const Term& b) {
  Term product;
  product.labels = a.labels;
  for (const Label label : b.labels)
    if (!a.has(label)) product.labels.push_back(label);
  Result<Id> aligned[2] = {kNone, kNone};
  const Term* terms[2] = {&a, &b};
  for (size_t k = 0; k < 2; ++k) {
    Labels own;
    Shape shape;
    for (const Label label : product.labels) {
      const bool has = terms[k]->has(label);
      if (has) own.push_back(label);
      shape.push_back(has ? n_.size(terms[k]->value, static_cast<int64_t>(terms[k]->at(label))) : 1);
    }
    while (shape.size() > own.size() && shape.front() == 1 &&
           !terms[k]->has(product.labels[product.labels.size() - shape.size()]))
      shape.erase(shape.begin());
    aligned[k] = n_.reshape(arrange(*terms[k], own), std::move(shape));
  }
  PLICA_TRY(product.value, n_.mul(aligned[0], aligned[1]));
  return product;
}

// The term's axes in the order of the groups; each group from `first_grouped` on becomes a single axis.
Result<Id> Contraction::grouped(const Term& term, const std::vector<Labels>& groups, size_t first_grouped) {
  Labels order;
  Shape shape;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t product = 1;
    for (const Label label : groups[g]) {
      const int64_t size = n_.size(term.value, static_cast<int64_t>(term.at(label)));
      order.push_back(label);
      product *= size;
      if (g < first_grouped) shape.push_back(size);
    }
    if (g >= first_grouped) shape.push_back(product);
  }
  return n_.reshape(arrange(term, order), std::move(shape));
}

Result<Term> Contraction::multiply(const Term& a, const Term& b, const Labels& kept) {
  Labels batch, rows, columns, summed;
  for (const Label label : kept)
    if (a.has(label) || b.has(label))
      (a.has(label) && b.has(label) ? batch : a.has(label) ? rows : columns).push_back(label);
  for (const Label label : a.labels)
    if (b.has(label) && !contains(kept, label)) summed.push_back(label);
  if (summed.empty()) return outer(a, b);
  PLICA_TRY(const Id left, grouped(a, {batch, rows, summed}, 1));
  PLICA_TRY(const Id right, grouped(b, {batch, summed, columns}, 1));
  PLICA_TRY(const Id matrix, n_.mat_mul(left, right));
  Term product;
  Shape shape;
  for (const Labels* group : {&batch, &rows, &columns})
    for (const Label label : *group) {
      const Term& from = a.has(label) ? a : b;
      product.labels.push_back(label);
      shape.push_back(n_.size(from.value, static_cast<int64_t>(from.at(label))));
    }
  PLICA_TRY(product.value, n_.reshape(matrix, std::move(shape)));
  return product;
}

}  // namespace plica::onnx
