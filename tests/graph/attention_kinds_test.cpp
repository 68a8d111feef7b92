#include "graph/attention_kinds.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/softmax.h"

namespace plica {
namespace {

// The kinds of the only attention in a graph of this text.
AttentionKinds kinds_in(const std::string& text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << to_string(graph.error());
  for (NodeId id : graph->order())
    if (graph->node(id).op == &attention_op || graph->node(id).op == &softmax_op) return kinds_of_attention(*graph, id);
  ADD_FAILURE() << "no attention in\n" << text;
  return {};
}

constexpr const char* kInputs = R"text(
    input q: f32 2x4x5x8
    input k: f32 2x4x6x8
    input v: f32 2x4x6x8
    input g: f32 2x4x5x8
    input pair: f32 4x5x6
    input mask: f32 2x1x1x6
    input causal: f32 2x1x5x6
    input keep: bool 2x4x5x6
    constant w: f32 32x16
    constant u: f32 16x16
)text";

AttentionKinds kinds_of(const std::string& text) { return kinds_in(kInputs + text); }

TEST(AttentionKinds, ABiasDiffersBetweenHeadsAndQueries) {
  EXPECT_TRUE(kinds_of("y = Attention(q, k, v, pair)\noutput y\n").is_biased);
  EXPECT_TRUE(kinds_of("y = Attention(q, k, v, _, pair)\noutput y\n").is_biased);
  EXPECT_FALSE(kinds_of("y = Attention(q, k, v, mask)\noutput y\n").is_biased);
  EXPECT_FALSE(kinds_of("y = Attention(q, k, v, causal)\noutput y\n").is_biased);
  EXPECT_FALSE(kinds_of("y = Attention(q, k, v, _, keep)\noutput y\n").is_biased);
}

constexpr const char* kWeights = R"text(
    s = MatMul(q, Transpose(k) {perm=[0,1,3,2]})
    p = Softmax(s, pair) {attention=true}
    y = MatMul(p, v, _, g) {gate_sigmoid=true}
    output y
)text";

TEST(AttentionKinds, WeightsMayBeReadElsewhere) {
  const AttentionKinds kinds = kinds_of(kWeights);
  EXPECT_TRUE(kinds.is_biased);
  EXPECT_FALSE(kinds.has_weights_out);
  EXPECT_EQ(kinds.num_gates, 1);
  EXPECT_TRUE(kinds_of(std::string(kWeights) + "output p\n").has_weights_out);
  EXPECT_TRUE(kinds_of(std::string(kWeights) + "t = Transpose(p) {perm=[1,0,2,3]}\noutput t\n").has_weights_out);
  EXPECT_TRUE(kinds_of(std::string(kWeights) + "m = Reduce(p) {axes=[1]}\noutput m\n").has_weights_out);
}

// Attended values o (2, 5, 32) and what is behind them.
int gates_of(const std::string& text) {
  return kinds_of("o = Reshape(Transpose(Attention(q, k, v)) {perm=[0,2,1,3]}) {shape=[2,5,32]}\n" + text +
                  "output y\n")
      .num_gates;
}

TEST(AttentionKinds, GatesStandBeforeOrBehindTheOutputProjection) {
  EXPECT_EQ(kinds_of("y = Attention(q, k, v, _, _, g)\noutput y\n").num_gates, 1);
  EXPECT_EQ(gates_of("y = MatMul(o, w)\n"), 0);
  EXPECT_EQ(gates_of("input a: f32 2x5x32\ny = MatMul(Map(o, a) {program=\"Mul(x0,Sigmoid(x1))\"}, w)\n"), 1);
  EXPECT_EQ(gates_of("input a: f32 2x5x32\ny = MatMul(Map(o, a) {program=\"Mul(x0,x1)\"}, w)\n"), 0);
  EXPECT_EQ(gates_of("input a: f32 2x5x32\nconstant z: f32 32x32\n"
                     "y = MatMul(Map(MatMul(a, z) {activation=sigmoid}, o) {program=\"Mul(x0,x1)\"}, w)\n"),
            1);
  EXPECT_EQ(gates_of("input a: f32 2x5x16\ny = MatMul(o, w, _, MatMul(a, u) {activation=sigmoid})\n"), 1);
  EXPECT_EQ(gates_of("input a: f32 2x5x16\ny = MatMul(o, w, _, a)\n"), 0);
  EXPECT_EQ(gates_of("input a: f32 2x5x16\ny = MatMul(a, u, _, MatMul(o, w)) {activation=sigmoid}\n"), 1);
}

TEST(AttentionKinds, GatesBehindTheResidualAreOfSomethingElse) {
  EXPECT_EQ(gates_of("input a: f32 2x5x16\nr = MatMul(o, w, _, _, a)\n"
                     "y = Map(r, a) {program=\"Mul(x0,Sigmoid(x1))\"}\n"),
            0);
}

constexpr const char* kTied = R"text(
    input x: f32 3x5x16
    constant w: f32 16x16
    l = Reshape(MatMul(x, w)) {shape=[3,5,2,8]}
)text";

TEST(AttentionKinds, TiedRowsAreSummedInTheScores) {
  const auto with_queries = [](const std::string& view) {
    return kinds_in(kTied + view + "y = Attention(q, q, q)\noutput y\n");
  };
  EXPECT_TRUE(with_queries("q = Reshape(Transpose(l) {perm=[2,1,0,3]}) {shape=[2,5,24]}\n").is_tied);
  EXPECT_FALSE(with_queries("q = Transpose(l) {perm=[0,2,1,3]}\n").is_tied);
  EXPECT_FALSE(with_queries("q = Reshape(l) {shape=[3,5,16]}\n").is_tied);
}

TEST(AttentionKinds, AGlobalQueryComesFromAMean) {
  const auto with_query = [](const std::string& made) {
    return kinds_in("input x: f32 3x5x16\ninput n: f32 3x1\nconstant w: f32 16x16\nk = Reshape(x) {shape=[3,10,8]}\n" +
                    made + "y = Attention(Reshape(MatMul(m, w)) {shape=[3,2,8]}, k, k)\noutput y\n");
  };
  const std::string sum = "s = Reduce(x) {axes=[1], keepdims=false}\n";
  EXPECT_TRUE(with_query("m = Reduce(x) {kind=mean, axes=[1], keepdims=false}\n").has_global_query);
  EXPECT_TRUE(with_query(sum + "m = Map(s, n) {program=\"Div(x0,x1)\"}\n").has_global_query);
  EXPECT_FALSE(with_query("input m: f32 3x16\n").has_global_query);
  EXPECT_FALSE(kinds_in("input x: f32 3x5x16\nconstant w: f32 16x16\nm = Reduce(x) {kind=mean, axes=[2]}\n"
                        "d = Map(x, m) {program=\"Sub(x0,x1)\"}\ny = Attention(MatMul(d, w), x, x)\noutput y\n")
                   .has_global_query);
}

}  // namespace
}  // namespace plica
