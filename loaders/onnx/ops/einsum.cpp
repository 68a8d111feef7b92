#include <algorithm>
#include <map>

#include "loaders/onnx/ops/einsum_term.h"
#include "loaders/onnx/ops/tables.h"

namespace plica::onnx {
namespace {

void add_missing(Labels& to, const Labels& labels) {
  for (const Label label : labels)
    if (std::find(to.begin(), to.end(), label) == to.end()) to.push_back(label);
}

// Every label that is in `of` and not in `kept`.
Labels others(const Labels& of, const Labels& kept) {
  Labels rest;
  for (const Label label : of)
    if (std::find(kept.begin(), kept.end(), label) == kept.end()) rest.push_back(label);
  return rest;
}

Status check_sizes(Lowering& n, const std::vector<Term>& terms) {
  std::map<Label, int64_t> sizes;
  for (const Term& term : terms)
    for (size_t i = 0; i < term.labels.size(); ++i) {
      const int64_t size = n.size(term.value, static_cast<int64_t>(i));
      int64_t& known = sizes.emplace(term.labels[i], size).first->second;
      if (known != size && known != 1 && size != 1)
        return invalid_model("a label has sizes " + std::to_string(known) + " and " + std::to_string(size));
      if (known == 1) known = size;
    }
  return {};
}

// Operands are multiplied from left to right. One product of two is, with B the labels of both that stay, S those that
// go, and M, N those of one operand, each group in the order of the result (S in that of the first operand):
//
//   MatMul(Transpose to (B..., M, S), Transpose to (B..., S, N)) -> Transpose from (B..., M, N) to the result
//
// A group M, S or N of several labels (or of none) is one axis by a Reshape behind its Transpose, and taken apart by a
// Reshape behind the MatMul; with one label in each there is no Reshape. Identities among these are left out. So
//   bikc,bjkc->bijc    MatMul(Transpose(a){0,3,1,2}, Transpose(b){0,3,2,1}) > Transpose{0,2,3,1}
//   bsih,bsjk->bijhk   MatMul(Reshape(Transpose(a){0,2,3,1}){b,ih,s}, Reshape(b){b,s,jk}) > Reshape{b,i,h,j,k}
//                      > Transpose{0,1,3,2,4}
//   rinhd,rjnhd->hnij  MatMul(Reshape(Transpose(a){3,2,1,0,4}){h,n,i,rd}, Reshape(Transpose(b){3,2,0,4,1}){h,n,rd,j})
// Where nothing is summed the product is a Mul of operands with axes of size 1 put in.
Status einsum(Lowering& n) {
  PLICA_TRY(const std::string text, string_attribute(n.node(), "equation", ""));
  std::vector<int64_t> ranks;
  for (const Id input : n.all_inputs()) {
    if (input == kNone) return invalid_model("an operand is absent");
    ranks.push_back(n.rank(input));
  }
  PLICA_TRY(const Equation equation, parse_equation(text, ranks));
  Contraction contraction(n);
  std::vector<Term> terms;
  for (size_t i = 0; i < ranks.size(); ++i) {
    PLICA_TRY(terms.emplace_back(), contraction.take_diagonals({n.in(i), equation.operands[i]}));
  }
  PLICA_CHECK(check_sizes(n, terms));
  Term product = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels kept = equation.result;
    for (size_t k = i + 1; k < terms.size(); ++k) add_missing(kept, terms[k].labels);
    PLICA_TRY(Term left, contraction.drop_ones(product, terms[i]));
    PLICA_TRY(Term right, contraction.drop_ones(terms[i], product));
    PLICA_TRY(left, contraction.sum_out(left, others(others(left.labels, kept), right.labels)));
    PLICA_TRY(right, contraction.sum_out(right, others(others(right.labels, kept), left.labels)));
    PLICA_TRY(product, contraction.multiply(left, right, kept));
  }
  PLICA_TRY(product, contraction.sum_out(product, others(product.labels, equation.result)));
  return n.give(contraction.arrange(product, equation.result));
}

constexpr OpRow kRows[] = {
    {"Einsum", 12, 1, einsum},
};

}  // namespace

std::span<const OpRow> einsum_rows() { return kRows; }

}  // namespace plica::onnx
