#include "graph/patch.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/pointwise.h"

namespace plica {
namespace {

struct Parsed {
  Graph graph;
  ValueId x, y;
  explicit Parsed(const char* text) : graph(*parse_graph(text)) {
    x = graph.inputs()[0];
    y = graph.outputs()[0];
  }
};

const char* const kText = "input x: f32 3\nt = Neg(x)\ny = Mul(t, 2)\noutput y\n";

TEST(Patch, ReplacesAndRemovesWhatIsDead) {
  Parsed p(kText);
  Patch patch(p.graph, "new");
  auto y = patch.add(pointwise_op(ops::Fn::kAbs), ops::Pointwise{}, {p.x});
  ASSERT_TRUE(y);
  patch.replace(p.y, *y);
  ASSERT_TRUE(patch.fits());
  ASSERT_TRUE(patch.apply());
  EXPECT_TRUE(p.graph.verify());
  EXPECT_EQ(to_text(p.graph), "input x: f32 3\ny = Abs(x)\noutput y\n");
  EXPECT_EQ(p.graph.node(p.graph.value(*y).producer).name, "new");
}

TEST(Patch, LeavesNothingBehindWithoutApply) {
  Parsed p(kText);
  const std::string before = to_text(p.graph);
  {
    Patch patch(p.graph);
    ASSERT_TRUE(patch.add(pointwise_op(ops::Fn::kAbs), ops::Pointwise{}, {p.x}));
  }
  EXPECT_EQ(to_text(p.graph), before);
  EXPECT_TRUE(p.graph.verify());
}

TEST(Patch, RefusesAnotherType) {
  Parsed p(kText);
  const std::string before = to_text(p.graph);
  {
    Patch patch(p.graph);
    auto y = patch.add(pointwise_op(ops::Fn::kIsNaN), ops::Pointwise{}, {p.x});
    patch.replace(p.y, *y);
    EXPECT_FALSE(patch.fits());
    EXPECT_FALSE(patch.apply());
  }
  EXPECT_EQ(to_text(p.graph), before);
}

}  // namespace
}  // namespace plica
