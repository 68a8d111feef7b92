#include "graph/views.h"

#include <gmock/gmock.h>

#include "graph/text.h"

namespace plica {
namespace {

constexpr const char* kGraph = R"text(
    input x: f32 2x6
    constant w: f32 6x4
    constant rows: f32 4x6
    r = Relu(x)
    v = Transpose(Map(Reshape(r) {shape=[2,3,2]}) {program="Cast:f64(x0)"}) {perm=[2,1,0]}
    e = Exp(v)
    m = Mul(v, v)
    p = MatMul(r, w)
    t = MatMul(r, Transpose(rows) {perm=[1,0]})
    output e
    output m
    output p
    output t
    output v
)text";

struct Views : testing::Test {
  Graph graph = *parse_graph(kGraph);
  ValueId output(size_t i) const { return graph.outputs()[i]; }
  const Node& maker(size_t i) const { return graph.node(graph.value(output(i)).producer); }
  ValueId relu() const { return maker(2).inputs[0]; }
};

TEST_F(Views, LeadToWhatTheyAreViewsOf) {
  EXPECT_EQ(viewed(graph, output(4)), relu());
  EXPECT_EQ(viewed(graph, relu()), relu());
  AxisAtoms atoms;
  const AtomView source = viewed(graph, atoms, {output(4), {atoms.add(2), atoms.add(3), atoms.add(2)}});
  EXPECT_EQ(source.value, relu());
  EXPECT_EQ(atoms.size(source.axes[0]), 2);
  EXPECT_EQ(atoms.size(source.axes[1]), 6);
  EXPECT_EQ(maker_of(graph, output(4)), graph.value(relu()).producer);
  EXPECT_EQ(maker_of(graph, graph.inputs()[0]), kNone);
}

TEST_F(Views, AreReadByTheirReaders) {
  std::vector<std::pair<std::string, size_t>> uses;
  for (const Use& use : uses_behind_views(graph, relu()))
    uses.emplace_back(std::string(graph.node(use.node).op->name), use.operand);
  using testing::Pair;
  EXPECT_THAT(uses, testing::UnorderedElementsAre(Pair("Exp", 0), Pair("Mul", 0), Pair("Mul", 1), Pair("MatMul", 0),
                                                  Pair("MatMul", 0)));
}

TEST_F(Views, OfAValueMayBeOutputs) {
  EXPECT_TRUE(is_seen_outside(graph, relu()));
  EXPECT_TRUE(is_seen_outside(graph, output(0)));
  EXPECT_FALSE(is_seen_outside(graph, graph.inputs()[0]));
}

TEST_F(Views, OfAConstantMatrixMakeAProjection) {
  EXPECT_TRUE(is_projection(graph, maker(2)));
  EXPECT_TRUE(is_projection(graph, maker(3)));
  EXPECT_FALSE(is_projection(graph, maker(1)));
}

}  // namespace
}  // namespace plica
