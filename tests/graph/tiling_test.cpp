#include "graph/passes/tiling.h"

#include <gmock/gmock.h>

#include "graph/text.h"
#include "tests/graph/evaluate_graph.h"

namespace plica {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Tiling kSmall{.tile_bytes = 256};

using TilingPass = Result<int> (*)(Graph&, const Tiling&);

// Runs the pass on a graph; its results must stay, and the text of what it leaves is returned.
std::string tiled(TilingPass pass, const std::string& text, int num_edits) {
  Graph graph = *parse_graph(text), before = *parse_graph(text);
  const auto edits = pass(graph, kSmall);
  EXPECT_TRUE(edits) << to_string(edits.error());
  EXPECT_EQ(*edits, num_edits);
  const auto valid = graph.verify();
  EXPECT_TRUE(valid) << to_string(valid.error());
  auto inputs = test::random_inputs(before);
  auto wanted = test::evaluate_graph(before, *inputs), found = test::evaluate_graph(graph, *inputs);
  EXPECT_TRUE(wanted && found);
  for (size_t i = 0; i < wanted->size(); ++i) EXPECT_LE(test::difference((*found)[i], (*wanted)[i]), 2e-5);
  return to_text(graph);
}

size_t count(const std::string& text, const std::string& part) {
  size_t num = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++num;
  return num;
}

TEST(TileRows, ATransitionWithItsNorm) {
  const std::string text = tiled(&tile_rows, R"(
      input x: f32 1x6x5x4
      constant g: f32 4
      constant u: f32 4x16
      constant w: f32 16x4
      constant b: f32 4
      h = MatMul(LayerNorm(x, g), u) {activation=relu}
      y = MatMul(h, w, b, _, x)
      output y
  )",
                                 1);
  EXPECT_EQ(count(text, "LayerNorm("), 6u) << text;  // 1,920 bytes want eight tiles, there are six rows
  EXPECT_EQ(count(text, "MatMul("), 12u) << text;
  EXPECT_THAT(text, HasSubstr("Concat"));
  EXPECT_THAT(text, Not(HasSubstr("1x6x5x16")));
}

constexpr const char* kAttention = R"(
    input x: f32 1x4x6x8
    input m: f32 1x4x1x1x6
    input b: f32 1x2x6x6
    constant u: f32 8x32
    constant w: f32 8x8
    n = LayerNorm(x)
    p = MatMul(n, u)
    q = Transpose(Reshape(Slice(p) {starts=[0,0,0,0], sizes=[1,4,6,8], steps=[1,1,1,1]}) {shape=[1,4,6,2,4]}) {perm=[0,1,3,2,4]}
    k = Transpose(Reshape(Slice(p) {starts=[0,0,0,8], sizes=[1,4,6,8], steps=[1,1,1,1]}) {shape=[1,4,6,2,4]}) {perm=[0,1,3,2,4]}
    v = Transpose(Reshape(Slice(p) {starts=[0,0,0,16], sizes=[1,4,6,8], steps=[1,1,1,1]}) {shape=[1,4,6,2,4]}) {perm=[0,1,3,2,4]}
    g = Transpose(Reshape(Slice(p) {starts=[0,0,0,24], sizes=[1,4,6,8], steps=[1,1,1,1]}) {shape=[1,4,6,2,4]}) {perm=[0,1,3,2,4]}
    a = Attention(q, k, v, Reshape(b) {shape=[1,1,2,6,6]}, m, g) {scale=0.5}
)";

TEST(TileRows, AnAttentionOfEachRow) {
  const std::string text = tiled(&tile_rows, std::string(kAttention) + R"(
      o = Reshape(Transpose(a) {perm=[0,1,3,2,4]}) {shape=[1,4,6,8]}
      y = MatMul(o, w, _, _, x)
      output y
  )",
                                 1);
  EXPECT_EQ(count(text, "Attention("), 4u) << text;
  EXPECT_THAT(text, Not(HasSubstr("1x4x6x32")));
}

TEST(TileRows, ColumnsWhereRowsStandBehindThem) {
  const std::string text = tiled(&tile_rows, std::string(kAttention) + R"(
      o = Reshape(Transpose(a) {perm=[0,3,1,2,4]}) {shape=[1,6,4,8]}
      y = MatMul(o, w)
      output y
  )",
                                 1);
  EXPECT_EQ(count(text, "Attention("), 4u) << text;
  EXPECT_THAT(text, HasSubstr("{axis=2}"));
}

TEST(TileRows, WhatOthersReadStaysWhole) {
  const std::string shared = R"(
      input x: f32 1x6x5x4
      constant u: f32 4x16
      constant w: f32 16x4
      h = MatMul(x, u) {activation=relu}
      y = MatMul(h, w)
      output y
  )";
  EXPECT_EQ(count(tiled(&tile_rows, shared + "  output h\n", 0), "MatMul("), 2u);
  const std::string softmax = R"(
      input x: f32 1x6x5x4
      constant u: f32 4x16
      constant w: f32 16x4
      y = MatMul(Softmax(MatMul(x, u)), w)
      output y
  )";
  EXPECT_EQ(count(tiled(&tile_rows, softmax, 0), "Softmax("), 1u);
  const std::string rank_3 = R"(
      input x: f32 6x5x4
      constant u: f32 4x16
      constant w: f32 16x4
      y = MatMul(MatMul(x, u), w)
      output y
  )";
  tiled(&tile_rows, rank_3, 0);
}

TEST(PutChannelsFirst, SomeChannelsAfterTheOther) {
  const std::string text = tiled(&put_channels_first, R"(
      input x: f32 1x3x4x5
      input m: f32 1x3x4x1
      constant u: f32 5x12
      constant g: f32 5x12
      constant b: f32 12
      p = Mul(m, Mul(Sigmoid(MatMul(x, g)), Add(MatMul(x, u), b)))
      l = Slice(p) {starts=[0,0,0,0], sizes=[1,3,4,6], steps=[1,1,1,1]}
      r = Slice(p) {starts=[0,0,0,6], sizes=[1,3,4,6], steps=[1,1,1,1]}
      y = MatMul(Transpose(l) {perm=[0,3,1,2]}, Transpose(r) {perm=[0,3,2,1]})
      output y
  )",
                                 1);
  // 1,152 bytes want five tiles, six are even: two products each.
  EXPECT_EQ(count(text, " = MatMul("), 12u) << text;
  EXPECT_THAT(text, HasSubstr("Concat"));
}

// 55,296 bytes want 216 tiles; six of them hold no more than the result.
TEST(PutChannelsFirst, SlicesAreNoThinnerThanTheResultAsks) {
  const std::string text = tiled(&put_channels_first, R"(
      input x: f32 1x12x12x5
      input m: f32 1x12x12x1
      constant u: f32 5x48
      constant g: f32 5x48
      p = Mul(m, Mul(Sigmoid(MatMul(x, g)), MatMul(x, u)))
      l = Slice(p) {starts=[0,0,0,0], sizes=[1,12,12,24], steps=[1,1,1,1]}
      r = Slice(p) {starts=[0,0,0,24], sizes=[1,12,12,24], steps=[1,1,1,1]}
      y = MatMul(Transpose(l) {perm=[0,3,1,2]}, Transpose(r) {perm=[0,3,2,1]})
      output y
  )",
                                 1);
  EXPECT_EQ(count(text, " = MatMul("), 12u) << text;
}

TEST(CutNorms, OfWhatIsReadByAWideProduct) {
  const std::string text = tiled(&cut_norms, R"(
      input x: f32 1x6x5x4
      constant g: f32 4
      constant u: f32 4x16
      constant b: f32 4x2
      n = LayerNorm(Exp(x), g)
      wide = MatMul(n, u)
      y = MatMul(wide, Transpose(wide) {perm=[0,1,3,2]})
      bias = MatMul(n, b)
      z = Exp(bias)
      output y
      output z
  )",
                                 1);
  EXPECT_EQ(count(text, "LayerNorm("), 2u) << text;
  EXPECT_EQ(count(text, "MatMul("), 5u) << text;
  EXPECT_EQ(count(text, "Concat("), 2u) << text;
  EXPECT_THAT(text, Not(HasSubstr("LayerNorm(x")));
}

TEST(CutNorms, OthersStayWhole) {
  const std::string narrow = R"(
      input x: f32 1x6x5x16
      constant u: f32 16x16
      y = Exp(MatMul(LayerNorm(x), u))
      output y
  )";
  tiled(&cut_norms, narrow, 0);
  const std::string shared = R"(
      input x: f32 1x6x5x4
      constant u: f32 4x16
      n = LayerNorm(x)
      y = Exp(MatMul(n, u))
      output y
  )";
  tiled(&cut_norms, shared + "  output n\n", 0);
  tiled(&cut_norms, shared + "  z = Exp(n)\n  output z\n", 0);
  tiled(&cut_norms, shared, 1);
}

}  // namespace
}  // namespace plica
