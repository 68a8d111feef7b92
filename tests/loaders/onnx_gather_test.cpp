#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string_view> op_names(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const NodeId id : graph.order()) names.push_back(graph.node(id).op->name);
  return names;
}

TEST(OnnxGather, OneKnownIndexIsAView) {
  OneOp op("Gather");
  const auto graph = op.counted({3, 2}).constant<int64_t>({}, {-1}).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(op_names(*graph), ElementsAre("Slice", "Reshape"));
  EXPECT_THAT(first(op).values, ElementsAre(4, 5));
}

TEST(OnnxGather, KnownIndicesThatRunEvenlyAreAView) {
  OneOp op("Gather");
  const auto graph = op.counted({2, 6}).constant<int64_t>({3}, {1, 3, -1}).attr("axis", 1).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(op_names(*graph), ElementsAre("Slice"));
  EXPECT_THAT(first(op).values, ElementsAre(1, 3, 5, 7, 9, 11));

  for (const std::vector<int64_t>& uneven : {std::vector<int64_t>{1, 2, 4}, {2, 1, 0}, {1, 1, 1}}) {
    OneOp gather("Gather");
    const auto left = gather.counted({6}).constant<int64_t>({3}, uneven).lower();
    ASSERT_TRUE(left) << to_string(left.error());
    EXPECT_THAT(op_names(*left), ElementsAre("Gather"));
    EXPECT_THAT(first(gather).values, ElementsAre(uneven[0], uneven[1], uneven[2]));
  }
}

TEST(OnnxGather, IndicesThatNameAllInOrderAreAView) {
  OneOp op("GatherND");
  const auto graph = op.counted({2, 2, 3}).constant<int64_t>({4, 1, 2}, {0, 0, 0, 1, 1, 0, 1, -1}).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(op_names(*graph), ElementsAre("Reshape"));
  EXPECT_THAT(first(op).shape, ElementsAre(4, 1, 3));
  EXPECT_THAT(first(op).values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));

  OneOp swapped("GatherND");
  const auto left = swapped.counted({2, 2}).constant<int64_t>({4, 2}, {0, 0, 1, 0, 0, 1, 1, 1}).lower();
  ASSERT_TRUE(left) << to_string(left.error());
  EXPECT_THAT(op_names(*left), ElementsAre("GatherNd"));
  EXPECT_THAT(first(swapped).values, ElementsAre(0, 2, 1, 3));
}

TEST(OnnxGather, TakesRowsAndNegativeIndices) {
  EXPECT_THAT(first(OneOp("Gather").counted({2, 2}).input<int64_t>({1, 2}, {-1, 0}).attr("axis", 1)).values,
              ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(first(OneOp("GatherElements").counted({2, 2}).input<int64_t>({1, 2}, {1, -2})).values, ElementsAre(2, 1));
  EXPECT_THAT(first(OneOp("GatherND").counted({2, 2}).input<int64_t>({1, 2}, {1, 0})).values, ElementsAre(2));
}

std::vector<std::string> noted(OneOp& op) {
  const auto graph = op.lower();
  EXPECT_TRUE(graph) << to_string(graph.error());
  return graph ? std::vector<std::string>(graph->noted().begin(), graph->noted().end()) : std::vector<std::string>();
}

TEST(OnnxGather, RowsOfATableAreEmbeddings) {
  const std::vector<float> table{1, 2, 3, 4, 5, 6};
  OneOp residues("Gather"), places("Gather"), inputs("Gather"), elements("Gather"), columns("Gather"), order("Gather");
  EXPECT_THAT(noted(residues.constant<float>({3, 2}, table).input<int64_t>({1, 2}, {2, 0})), ElementsAre("embedding"));
  EXPECT_THAT(noted(places.constant<float>({3, 2}, table).constant<int64_t>({1, 2}, {0, 1})), ElementsAre("embedding"));
  EXPECT_THAT(noted(order.constant<float>({3, 2}, table).constant<int64_t>({3}, {2, 0, 1})), IsEmpty());
  EXPECT_THAT(noted(inputs.counted({3, 2}).input<int64_t>({1}, {0})), IsEmpty());
  EXPECT_THAT(noted(elements.constant<float>({6}, table).input<int64_t>({1}, {0})), IsEmpty());
  EXPECT_THAT(noted(columns.constant<float>({3, 2}, table).input<int64_t>({1}, {0}).attr("axis", 1)), IsEmpty());
}

TEST(OnnxGather, RowsByTheDifferenceOfPlacesAreRelativePositions) {
  const std::vector<float> table{1, 2, 3, 4, 5, 6};
  const auto of = [&](const std::vector<int64_t>& indices) {
    OneOp op("Gather");
    return noted(op.constant<float>({3, 2}, table).constant<int64_t>({2, 3}, indices));
  };
  EXPECT_THAT(of({1, 2, 2, 0, 1, 2}), ElementsAre("relative_position", "relative_position_bias"));
  EXPECT_THAT(of({1, 2, 2, 0, 2, 2}), ElementsAre("embedding"));
  EXPECT_THAT(of({1, 1, 1, 1, 1, 1}), ElementsAre("embedding"));
  OneOp few("Gather");
  EXPECT_THAT(noted(few.constant<float>({3, 2}, table).constant<int64_t>({2, 2}, {1, 2, 0, 1})),
              ElementsAre("embedding"));
}

TEST(OnnxGather, APositionBeyondTheTableIsNamed) {
  OneOp op("Gather");
  op.constant<float>({3, 2}, std::vector<float>(6)).constant<int64_t>({4}, {0, 1, 2, 3});
  EXPECT_THAT(error_of(op), HasSubstr("index 3 is outside the 3 rows of 'c0'"));
  EXPECT_THAT(error_of(op), HasSubstr("sequence is too long"));
}

TEST(OnnxGather, ATableWithoutRowsIsOfAnEmptySequence) {
  OneOp op("Gather");
  op.input<float>({0, 2}, {}).constant<int64_t>({2}, {0, -1});
  EXPECT_THAT(error_of(op), HasSubstr("index 0 is outside the 0 rows of"));
  EXPECT_THAT(error_of(op), HasSubstr("the sequence is empty"));
}

TEST(OnnxConstant, ShapesBecomeConstants) {
  EXPECT_THAT(first(OneOp("ConstantOfShape").ints({2, 0})).shape, ElementsAre(2, 0));
  EXPECT_THAT(
      first(OneOp("Range").constant<int64_t>({}, {5}).constant<int64_t>({}, {0}).constant<int64_t>({}, {-2})).values,
      ElementsAre(5, 3, 1));
  EXPECT_THAT(first(OneOp("Range").input<float>({}, {0}).input<float>({}, {1}).input<float>({}, {0.5})).values,
              ElementsAre(0, 0.5));
  EXPECT_THAT(first(OneOp("EyeLike").counted({2, 3}).attr("k", 1)).values, ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(error_of(OneOp("ConstantOfShape").ints({-2})), HasSubstr("negative"));
  EXPECT_THAT(error_of(OneOp("Range").constant<int64_t>({}, {0}).constant<int64_t>({}, {9}).constant<int64_t>({}, {0})),
              HasSubstr("step is 0"));
}

TEST(OnnxConstant, ALargeConstantOfShapeWritesNoElements) {
  OneOp op("ConstantOfShape");
  const auto graph = op.ints({4096, 4096}).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(op_names(*graph), ElementsAre("Expand"));
}

}  // namespace
}  // namespace plica::onnx
