#include "runtime/exec/layout.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plica
