#include "runtime/exec/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/exec/run_plan.h"

namespace plica {
namespace {

Strides preferred(std::string_view users) {
  const Graph graph = graph_of("input x: f32 2x3x4\nvalue = Softmax(x)\n" + std::string(users));
  return preferred_strides(graph, graph.node(0).outputs[0]);
}

TEST(Layout, OnlyReaderIsATranspose) {
  EXPECT_EQ(preferred("y = Transpose(value) {perm=[1,0,2]}\noutput y\n"), (Strides{4, 8, 1}));
  EXPECT_EQ(preferred("t = Transpose(value) {perm=[1,0,2]}\ny = Reshape(t) {shape=[3,8]}\noutput y\n"),
            (Strides{4, 8, 1}));
}

TEST(Layout, OtherwiseDense) {
  EXPECT_EQ(preferred("output value\n"), Strides{});
  EXPECT_EQ(preferred("y = Transpose(value) {perm=[1,0,2]}\noutput y\noutput value\n"), Strides{});
  EXPECT_EQ(preferred("y = Transpose(value) {perm=[1,0,2]}\nz = Softmax(value)\noutput y\noutput z\n"), Strides{});
  EXPECT_EQ(preferred("y = Transpose(value) {perm=[0,1,2]}\noutput y\n"), Strides{});
}

TEST(Layout, ProductsReadEitherWay) {
  EXPECT_EQ(preferred("y = MatMul(Exp(x), Transpose(value) {perm=[0,2,1]})\noutput y\n"), Strides{});
  EXPECT_EQ(preferred("y = MatMul(Transpose(x) {perm=[1,0,2]}, Transpose(value) {perm=[1,2,0]})\noutput y\n"),
            (Strides{1, 8, 2}));
}

// Of the value that makes attention's bias, where `users` name it `bias` and rows are to begin at multiples of 16 bytes.
Strides of_bias(const std::string& users) {
  const Graph graph = graph_of("input z: f32 5x5x3\ninput q: f32 2x3x5x8\nvalue = Softmax(z)\n" + users +
                               "\ny = Attention(q, q, q, bias)\noutput y\n");
  return preferred_strides(graph, graph.node(0).outputs[0], 16);
}

TEST(Layout, RowsOfABiasAreWholeVectors) {
  const std::string turned = "turned = Transpose(value) {perm=[2,0,1]}\n";
  EXPECT_EQ(of_bias(turned + "bias = Reshape(turned) {shape=[1,3,5,5]}"), (Strides{8, 1, 40}));
  EXPECT_EQ(of_bias("bias = Transpose(value) {perm=[2,0,1]}"), (Strides{8, 1, 40}));
  EXPECT_EQ(of_bias(turned + "bias = Exp(turned)"), (Strides{5, 1, 25}));
  EXPECT_EQ(of_bias("bias = Transpose(value) {perm=[2,0,1]}\nw = Exp(bias)\noutput w"), (Strides{5, 1, 25}));
}

TEST(Layout, ExtentHasTheGaps) {
  EXPECT_EQ(extent_bytes({DType::kF32, {3, 5}, {}}), 60);
  EXPECT_EQ(extent_bytes({DType::kF32, {3, 5}, {8, 1}}), 84);
  EXPECT_EQ(extent_bytes({DType::kBF16, {3, 5}, {1, 3}}), 30);
  EXPECT_EQ(extent_bytes({DType::kF32, {0, 5}, {8, 1}}), 0);
}

Place place_at(int64_t offset_bytes, Shape shape, Strides strides) {
  return {Place::Kind::kArena, 0, offset_bytes, nullptr, {DType::kF32, std::move(shape), std::move(strides)}, nullptr};
}

TEST(Layout, ColumnsSideBySideDoNotOverlap) {
  const Place q = place_at(0, {3, 2, 5, 4}, {120, 4, 24, 1}), k = place_at(8 * 4, {3, 2, 5, 4}, {120, 4, 24, 1});
  EXPECT_FALSE(may_overlap(q, k));
  EXPECT_TRUE(may_overlap(q, q));
  EXPECT_TRUE(may_overlap(q, place_at(7 * 4, {3, 2, 5, 4}, {120, 4, 24, 1})));
  EXPECT_FALSE(may_overlap(q, place_at(16 * 4, {3, 5, 8}, {120, 24, 1})));
}

TEST(Layout, RowsBehindEachOtherDoNotOverlap) {
  const Place first = place_at(0, {2, 6}, {}), second = place_at(12 * 4, {2, 6}, {});
  EXPECT_FALSE(may_overlap(first, second));
  EXPECT_TRUE(may_overlap(first, place_at(6 * 4, {2, 6}, {})));
  EXPECT_TRUE(may_overlap(place_at(5 * 4, {2, 6}, {6, -1}), place_at(16 * 4, {2, 6}, {6, -1})));
}

TEST(Layout, RepeatedOrSlidElementsAreNotApart) {
  const auto apart = [](Shape shape, Strides strides) {
    return has_elements_apart({DType::kF32, std::move(shape), std::move(strides)});
  };
  EXPECT_TRUE(apart({3, 4}, {}));
  EXPECT_TRUE(apart({3, 4}, {1, 3}));
  EXPECT_TRUE(apart({3, 4}, {12, 2}));
  EXPECT_TRUE(apart({1, 4}, {0, 1}));
  EXPECT_FALSE(apart({3, 4}, {0, 1}));
  EXPECT_FALSE(apart({3, 4}, {1, 1}));
  EXPECT_FALSE(apart({3, 4}, {3, 1}));
}

}  // namespace
}  // namespace plica
