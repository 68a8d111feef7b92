#include "loaders/onnx/ops/einsum_term.h"
#include "ops/op.h"
#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A plain loop over all labels; sizes of the letters come from the operands.
std::vector<double> by_loops(const std::string& equation, const std::vector<Shape>& shapes) {
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back().push_back(c);
  }
  const std::string result = equation.substr(arrow + 2);
  std::map<char, int64_t> size;
  for (size_t t = 0; t < terms.size(); ++t)
    for (size_t i = 0; i < terms[t].size(); ++i) size[terms[t][i]] = std::max(size[terms[t][i]], shapes[t][i]);
  std::map<char, int64_t> at;
  for (const auto& [label, count] : size) at[label] = 0;
  int64_t num_results = 1;
  for (const char c : result) num_results *= size[c];
  std::vector<double> sums(static_cast<size_t>(num_results), 0);
  const bool empty = std::any_of(size.begin(), size.end(), [](const auto& label) { return label.second == 0; });
  while (!empty) {
    double product = 1;
    for (size_t t = 0; t < terms.size(); ++t) {
      int64_t offset = 0;
      for (size_t i = 0; i < terms[t].size(); ++i)
        offset = offset * shapes[t][i] + (shapes[t][i] == 1 ? 0 : at[terms[t][i]]);
      product *= 0.25 * static_cast<double>(offset);
    }
    int64_t to = 0;
    for (const char c : result) to = to * size[c] + at[c];
    sums[static_cast<size_t>(to)] += product;
    auto label = size.begin();
    while (label != size.end() && ++at[label->first] == label->second) at[label++->first] = 0;
    if (label == size.end()) break;
  }
  return sums;
}

struct EinsumCase {
  std::string equation;
  std::vector<Shape> shapes;
};

TEST(OnnxEinsum, EqualsPlainLoops) {
  const EinsumCase cases[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"bikc,bjkc->bijc", {{2, 3, 4, 2}, {2, 5, 4, 2}}},
      {"bsih,bsjk->bijhk", {{1, 3, 2, 2}, {1, 3, 4, 3}}},
      {"rinhd,rjnhd->hnij", {{2, 3, 2, 2, 4}, {2, 5, 2, 2, 4}}},
      {"hnij,rjnhd->rinhd", {{2, 2, 3, 5}, {2, 5, 2, 2, 4}}},
      {"icnhd,jcnhd->hcnij", {{3, 2, 1, 2, 4}, {5, 2, 1, 2, 4}}},
      {"ij,biq,bjp->bqp", {{3, 4}, {2, 3, 2}, {2, 4, 5}}},
      {"i,j->ij", {{3}, {4}}},
      {"i,i->", {{3}, {3}}},
      {"ii->i", {{3, 3}}},
      {"ii->", {{3, 3}}},
      {"iji->j", {{2, 3, 2}}},
      {"ij->ji", {{2, 3}}},
      {"ijk->k", {{2, 3, 4}}},
      {"ij,kl->", {{2, 3}, {4, 5}}},
      {"ij,ij->ij", {{2, 1}, {2, 3}}},
      {"ij,jk->ik", {{2, 1}, {3, 4}}},
      {"bij,bj->bi", {{2, 3, 4}, {2, 4}}},
      {"ij,jk->ik", {{2, 0}, {0, 4}}},
      {"a,a,a->a", {{3}, {3}, {3}}},
  };
  for (const EinsumCase& c : cases) {
    OneOp op("Einsum");
    op.attr("equation", c.equation);
    for (const Shape& shape : c.shapes) op.counted(shape, 0.25f);
    const Numbers y = first(op);
    EXPECT_THAT(y.values, testing::Pointwise(testing::DoubleNear(1e-2), by_loops(c.equation, c.shapes))) << c.equation;
  }
}

TEST(OnnxEinsum, ReadsSpacesEllipsisAndImpliedResults) {
  EXPECT_THAT(first(OneOp("Einsum").counted({2, 3}).counted({3, 1}).attr("equation", std::string(" i j, jk "))).values,
              ElementsAre(5, 14));
  const std::string outer = "...bac,...dae->...bdce";
  EXPECT_THAT(first(OneOp("Einsum").counted({2, 3, 4, 1}).counted({2, 5, 4, 2}).attr("equation", outer)).shape,
              ElementsAre(2, 3, 5, 1, 2));
  EXPECT_THAT(
      first(OneOp("Einsum").counted({2, 3}).counted({4, 1, 3}).attr("equation", std::string("...i,...i->..."))).shape,
      ElementsAre(4, 2));
}

TEST(OnnxEinsum, LowersTheOuterProductToOneMatMul) {
  const auto graph = OneOp("Einsum")
                         .counted({1, 3, 2, 2})
                         .counted({1, 3, 4, 5})
                         .attr("equation", std::string("bsih,bsjk->bijhk"))
                         .lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  std::vector<std::string_view> names;
  for (const NodeId id : graph->order()) names.push_back(graph->node(id).op->name);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("Transpose", "Reshape", "Reshape", "MatMul", "Reshape", "Transpose"));
}

TEST(OnnxEinsum, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of(OneOp("Einsum").counted({2, 3}).attr("equation", std::string("ijk->i"))), HasSubstr("rank 2"));
  EXPECT_THAT(error_of(OneOp("Einsum").counted({2}).attr("equation", std::string("i->j"))), HasSubstr("'i->j'"));
  EXPECT_THAT(error_of(OneOp("Einsum").counted({2}).counted({3}).attr("equation", std::string("i,i->i"))),
              HasSubstr("sizes 2 and 3"));
  EXPECT_THAT(error_of(OneOp("Einsum").counted({2}).attr("equation", std::string("i,i->i"))), HasSubstr("2 terms"));
}

}  // namespace
}  // namespace plica::onnx
