#include "graph/structures.h"

#include <gmock/gmock.h>

#include "graph/text.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

StructureSums counted(const std::string& text) { return count_structures(*parse_graph(text)); }

TEST(Structures, AreThoseOfTheOperators) {
  EXPECT_THAT(counted("input x: f32 3x4\ny = Softmax(LayerNorm(LayerNorm(x)))\noutput y\n"),
              ElementsAre(Pair("layer_norm", 2)));
  EXPECT_THAT(counted("input x: f32 3x4\ny = Softmax(x)\noutput y\n"), IsEmpty());
}

constexpr const char* kRotated = R"text(
    input q: f32 2x3x4
    input k: f32 2x5x4
    input v: f32 2x5x4
    input c: f32 3x4
    input d: f32 5x4
    r = Rotary(q, c, c)
    s = Map(Rotary(k, d, d)) {program="Mul(x0,0.5)"}
)text";

TEST(Structures, QueriesAndKeysAreRotatedOnce) {
  EXPECT_THAT(counted(std::string(kRotated) + "y = Attention(r, s, v)\noutput y\n"),
              ElementsAre(Pair("attention", 1), Pair("rotary", 1)));
  EXPECT_THAT(counted(std::string(kRotated) + "y = MatMul(r, Transpose(s) {perm=[0,2,1]})\noutput y\n"),
              ElementsAre(Pair("rotary", 1)));
  EXPECT_THAT(counted(std::string(kRotated) + "y = Attention(r, k, v)\nz = Exp(s)\noutput y\noutput z\n"),
              ElementsAre(Pair("attention", 1), Pair("rotary", 2)));
}

TEST(Structures, SomeChannelsOfQueriesAndKeysAreRotatedOnce) {
  EXPECT_THAT(counted(std::string(kRotated) +
                      "a = Concat(r, q) {axis=2}\nb = Concat(s, k) {axis=2}\ny = Attention(a, b, v)\noutput y\n"),
              ElementsAre(Pair("attention", 1), Pair("rotary", 1)));
}

TEST(Structures, SpectraThatAreMultipliedAreNotRotated) {
  const auto rotated = [](const std::string& width, const std::string& rest) {
    return counted("input x: f32 3x5x" + width + "\nconstant c: f32 5x" + width + "\nconstant w: f32 10x8\n" +
                   "r = Rotary(x, c, c) {interleaved=true}\n" + rest);
  };
  EXPECT_THAT(rotated("2", "y = MatMul(Reshape(r) {shape=[3,10]}, w)\noutput y\n"), IsEmpty());
  EXPECT_THAT(rotated("4", "y = MatMul(Reshape(r) {shape=[6,10]}, w)\noutput y\n"), ElementsAre(Pair("rotary", 1)));
  EXPECT_THAT(rotated("2", "y = Exp(r)\noutput y\n"), ElementsAre(Pair("rotary", 1)));
  EXPECT_THAT(rotated("2", "output r\n"), ElementsAre(Pair("rotary", 1)));
}

TEST(Structures, ASiluThatMultipliesIsASwiglu) {
  EXPECT_THAT(counted("input x: f32 3\ninput z: f32 3\ny = Map(x, z) {program=\"Mul(Silu(x0),x1)\"}\noutput y\n"),
              ElementsAre(Pair("swiglu", 1)));
  EXPECT_THAT(counted("input x: f32 3\ny = Map(x) {program=\"Mul(Silu(x0),2)\"}\noutput y\n"), IsEmpty());
  EXPECT_THAT(counted("input x: f32 3x4\ninput g: f32 3x5\nconstant w: f32 4x5\n"
                      "y = MatMul(x, w, _, g) {activation=silu}\noutput y\n"),
              ElementsAre(Pair("swiglu", 1)));
}

TEST(Structures, ClippedDifferencesOfIntegersAreRelativePositions) {
  const auto of = [](const std::string& type, const std::string& program) {
    return counted("input a: " + type + " 4x1\ninput b: " + type + " 1x4\ny = Map(a, b) {program=\"" + program +
                   "\"}\noutput y\n");
  };
  EXPECT_THAT(of("i64", "Min(Max(Sub:i64(x0,x1),-4),4)"), ElementsAre(Pair("relative_position", 1)));
  EXPECT_THAT(
      counted("input a: i64 4\ninput b: i64 4\ny = Map(a, b) {program=\"Min(Max(Sub:i64(x0,x1),-4),4)\"}\noutput y\n"),
      IsEmpty());
  EXPECT_THAT(of("i64", "Max(Sub:i64(x0,x1),-4)"), IsEmpty());
  EXPECT_THAT(of("i64", "Min(Max(Add:i64(x0,x1),-4),4)"), IsEmpty());
  EXPECT_THAT(of("f32", "Min(Max(Sub(x0,x1),-4),4)"), IsEmpty());
}

TEST(Structures, WhatTheFileSpelledOutIsKept) {
  auto graph = parse_graph("input x: f32 3x4\ny = LayerNorm(x)\noutput y\n");
  graph->note("if");
  graph->note("if");
  EXPECT_THAT(count_structures(*graph), ElementsAre(Pair("if", 2), Pair("layer_norm", 1)));
}

}  // namespace
}  // namespace plica
