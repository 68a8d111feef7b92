#include "graph/blocks.h"

#include <gtest/gtest.h>

#include "graph/structures.h"
#include "graph/text.h"

namespace plica {
namespace {

int counted(const std::string& text, const std::string& name) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << to_string(graph.error());
  const StructureSums sums = count_structures(*graph);
  const auto found = sums.find(name);
  return found == sums.end() ? 0 : found->second;
}

// The product of a and b (2, 4, 5, 5) of 4 channels, and what is behind it.
int triangles(const std::string& behind, const std::string& inputs = "input a: f32 2x4x5x5\ninput b: f32 2x4x5x5\n") {
  return counted(inputs + "p = MatMul(a, b)\n" + behind + "output y\n", "triangle_multiplication");
}

TEST(Blocks, ATriangleMultiplicationNormalisesTheChannelsOfItsProducts) {
  EXPECT_EQ(triangles("y = LayerNorm(Transpose(p) {perm=[0,2,3,1]})\n"), 1);
  EXPECT_EQ(triangles("y = LayerNorm(Reshape(Transpose(p) {perm=[0,2,3,1]}) {shape=[50,4]})\n"), 1);
  EXPECT_EQ(triangles("constant w: f32 3x4\nconstant v: f32 3x4\nconstant c: f32 4\n"
                      "y = GatedMatMul(Transpose(p) {perm=[0,2,3,1]}, w, v, _, _, _, _, c)\n"),
            1);
}

TEST(Blocks, ATriangleMultiplicationMayBeMadeForSomeChannelsAtATime) {
  const std::string inputs = "input a: f32 2x4x5x5\ninput b: f32 2x4x5x5\ninput c: f32 2x2x5x5\ninput d: f32 2x2x5x5\n";
  EXPECT_EQ(
      triangles("q = MatMul(c, d)\nr = Concat(p, q) {axis=1}\ny = LayerNorm(Transpose(r) {perm=[0,2,3,1]})\n", inputs),
      1);
  EXPECT_EQ(
      triangles("q = MatMul(a, b)\nr = Concat(p, q) {axis=2}\ny = LayerNorm(Transpose(r) {perm=[0,2,3,1]})\n", inputs),
      0);
}

TEST(Blocks, OtherProductsOfTwoActivationsAreNone) {
  EXPECT_EQ(triangles("y = LayerNorm(p)\n"), 0);
  EXPECT_EQ(triangles("y = Softmax(Transpose(p) {perm=[0,2,3,1]})\n"), 0);
  EXPECT_EQ(triangles("y = LayerNorm(Transpose(p) {perm=[0,2,3,1]})\n", "input a: f32 2x4x5x6\ninput b: f32 2x4x6x5\n"),
            0);
  EXPECT_EQ(
      triangles("y = LayerNorm(Transpose(p) {perm=[0,2,3,1]})\n", "constant a: f32 2x4x5x5\ninput b: f32 2x4x5x5\n"),
      0);
  EXPECT_EQ(triangles("constant w: f32 3x4\nconstant v: f32 3x4\n"
                      "y = GatedMatMul(Transpose(p) {perm=[0,2,3,1]}, w, v)\n"),
            0);
}

constexpr const char* kWeights = R"text(
    input x: f32 3x4
    input mask: f32 3x1
    constant w: f32 4x8
    constant v: f32 8x4
    constant u: f32 8x8
    constant w_rows: f32 8x4
)text";

int transitions(const std::string& text) { return counted(kWeights + text + "output y\n", "transition"); }

TEST(Blocks, ATransitionIsTwoProjectionsAroundAnActivation) {
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w) {activation=relu}, v)\n"), 1);
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w) {activation=gelu}, v, _, _, x)\n"), 1);
  EXPECT_EQ(transitions("y = MatMul(Map(MatMul(x, w), mask) {program=\"Mul(Relu(x0),x1)\"}, v)\n"), 1);
  EXPECT_EQ(transitions("h = MatMul(x, w) {activation=relu}\ny = MatMul(Map(h, mask) {program=\"Mul(x0,x1)\"}, v)\n"),
            1);
}

TEST(Blocks, ATransitionMayBeGated) {
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w, _, MatMul(x, w)) {activation=silu}, v)\n"), 1);
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w, _, MatMul(x, w) {activation=silu}), v)\n"), 1);
  EXPECT_EQ(transitions("y = MatMul(Map(MatMul(x, w), MatMul(x, w)) {program=\"Mul(Silu(x0),x1)\"}, v)\n"), 1);
  EXPECT_EQ(transitions("y = MatMul(GatedMatMul(x, w_rows, w_rows) {activation=silu}, v)\n"), 1);
}

TEST(Blocks, OtherProjectionsAreNone) {
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w), v)\n"), 0);
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w) {activation=sigmoid}, v)\n"), 0);
  EXPECT_EQ(transitions("y = MatMul(LayerNorm(MatMul(x, w) {activation=gelu}), v)\n"), 0);
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w) {activation=relu}, u)\n"), 0);
  EXPECT_EQ(transitions("y = MatMul(MatMul(x, w) {activation=relu}, v) {activation=relu}\n"), 0);
  EXPECT_EQ(transitions("y = MatMul(MatMul(MatMul(x, w) {activation=relu}, u) {activation=relu}, u)\n"), 0);
}

}  // namespace
}  // namespace plica
