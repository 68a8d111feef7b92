#pragma once

#include <string>
#include <vector>

#include "loaders/onnx/emitter.h"

namespace plica::onnx {

// A label of an Einsum equation: a letter, or 1000 + k for the k-th axis from the right under "...".
using Label = int;
using Labels = std::vector<Label>;

// An equation with its spaces gone and "..." spelled out for the ranks at hand.
struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

// kInvalidModel where the text breaks the notation or does not fit the operands' ranks.
Result<Equation> parse_equation(const std::string& text, const std::vector<int64_t>& ranks);

// A value with a label for each of its axes.
struct Term {
  Id value = kNone;
  Labels labels;

  bool has(Label label) const;
  size_t at(Label label) const;  // its axis
};

// Terms as the products of an Einsum see them: no label twice in one term.
class Contraction {
 public:
  explicit Contraction(Emitter& n) : n_(n) {}

  Result<Term> take_diagonals(Term term);                 // "ii" becomes "i"
  Result<Term> sum_out(Term term, const Labels& labels);  // those of `labels` that it has
  Result<Term> drop_ones(Term term, const Term& other);   // axes of size 1 that the other term has larger
  Result<Term> multiply(const Term& a, const Term& b, const Labels& kept);
  Result<Id> arrange(const Term& term, const Labels& order);  // its axes in that order

 private:
  Result<Term> outer(const Term& a, const Term& b);
  Result<Id> grouped(const Term& term, const std::vector<Labels>& groups, size_t first_grouped);

  Emitter& n_;
};

}  // namespace plica::onnx
