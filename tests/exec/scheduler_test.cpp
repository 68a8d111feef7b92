#include "runtime/exec/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/exec/run_plan.h"

namespace plica {
namespace {

TEST(Scheduler, MakersComeFirst) {
  const Graph graph = graph_of("input x: f32 4\na = Exp(x)\nb = Tanh(x)\nc = Add(a, b)\noutput c\n");
  const std::vector<NodeId> order = schedule(graph);
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order.back(), 2);
}

// Three large tensors, each reduced to a small one: the file's order makes all of them first.
TEST(Scheduler, PrefersTheOrderThatHoldsLess) {
  const Graph graph = graph_of(R"(
      input x: f32 1x1000
      a = Exp(x)
      b = Tanh(x)
      c = Sin(x)
      ra = Reduce(a) {axes=[1]}
      rb = Reduce(b) {axes=[1]}
      rc = Reduce(c) {axes=[1]}
      y = Add(Add(ra, rb), rc)
      output y
  )");
  EXPECT_EQ(peak_bytes(graph, graph.order()), 12004u);
  EXPECT_EQ(peak_bytes(graph, schedule(graph)), 4008u);
}

TEST(Scheduler, ViewsOwnNothing) {
  const Graph graph = graph_of(R"(
      input x: f32 10x10
      a = Exp(x)
      t = Transpose(a) {perm=[1,0]}
      u = Reshape(t) {shape=[100]}
      y = Tanh(u)
      output y
  )");
  EXPECT_EQ(peak_bytes(graph, schedule(graph)), 800u);
}

// Of a tile all is made before the next tile is begun.
TEST(Scheduler, ReadersOfATileStandBehindIt) {
  const Graph graph = graph_of(R"(
      input x: f32 4x4
      constant w: f32 4x64
      constant u: f32 8x4
      a = Softmax(Slice(x) {starts=[0,0], sizes=[2,4], steps=[1,1]})
      b = Softmax(Slice(x) {starts=[2,0], sizes=[2,4], steps=[1,1]})
      wide = Concat(MatMul(a, w), MatMul(b, w)) {axis=0}
      turned = Transpose(u) {perm=[1,0]}
      narrow = Concat(MatMul(a, turned), MatMul(b, turned)) {axis=0}
      y = MatMul(Transpose(wide) {perm=[1,0]}, narrow)
      output y
  )");
  std::string text;
  for (NodeId id : schedule(graph))
    if (!graph.node(id).op->is_view) text.append(graph.node(id).op->name).append(" ");
  EXPECT_EQ(text, "Softmax MatMul MatMul Softmax MatMul MatMul Concat Concat MatMul ");
}

// The first part would take the memory of the whole while a wide value is still to come.
TEST(Scheduler, PartsAreNotMadeEarlyWhereThatTakesMore) {
  const Graph graph = graph_of(R"(
      input x: f32 16x4
      constant wide: f32 4x512
      constant narrow: f32 512x4
      constant u: f32 4x128
      constant v: f32 128x2
      a = Softmax(x)
      b = MatMul(Tanh(MatMul(x, wide)), narrow)
      c = MatMul(a, u)
      z = Concat(c, MatMul(b, u)) {axis=0}
      y = MatMul(Softmax(z), v)
      output y
  )");
  const std::vector<NodeId> order = schedule(graph);
  const auto position = [&](const char* name) {
    for (size_t i = 0; i < order.size(); ++i)
      if (graph.value(graph.node(order[i]).outputs[0]).name == name) return i;
    ADD_FAILURE() << "no " << name;
    return order.size();
  };
  EXPECT_GT(position("c"), position("b"));
}

}  // namespace
}  // namespace plica
