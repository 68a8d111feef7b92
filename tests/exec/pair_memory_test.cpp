#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr size_t kPairBytes = size_t{256} * 256 * 128 * 4;  // N x N x c_z

// Exp stands for what makes the pair representation, so that it lies in the arena.
constexpr const char* kPair = R"(
    input z: f32 1x256x256x128
    input mask: f32 1x256x256x1
    pair = Exp(z)
    constant g: f32 128
    n = LayerNorm(pair, g)
)";

std::string triangle_multiplication() {
  return std::string(kPair) + R"(
    constant a: f32 128x128
    constant ag: f32 128x128
    constant b: f32 128x128
    constant bg: f32 128x128
    constant gate: f32 128x128
    constant out: f32 128x128
    constant bias: f32 128
    left = Mul(Mul(mask, Sigmoid(Add(MatMul(n, ag), bias))), Add(MatMul(n, a), bias))
    right = Mul(Mul(mask, Sigmoid(Add(MatMul(n, bg), bias))), Add(MatMul(n, b), bias))
    p = MatMul(Transpose(left) {perm=[0,3,1,2]}, Transpose(right) {perm=[0,3,2,1]})
    o = MatMul(LayerNorm(Transpose(p) {perm=[0,2,3,1]}, g), out)
    y = Exp(Add(pair, Mul(Sigmoid(MatMul(n, gate)), o)))
    output y
  )";
}

std::string triangle_attention() {
  std::string text = std::string(kPair) + R"(
    constant wb: f32 128x4
    constant out: f32 128x128
    bias = Reshape(Transpose(MatMul(n, wb)) {perm=[0,3,1,2]}) {shape=[1,1,4,256,256]}
  )";
  for (const std::string name : {"q", "k", "v", "gate"})
    text += "    constant w" + name + ": f32 128x128\n    " + name + " = Transpose(Reshape(MatMul(n, w" + name +
            ")) {shape=[1,256,256,4,32]}) {perm=[0,1,3,2,4]}\n";
  return text + R"(
    s = Add(Mul(MatMul(q, Transpose(k) {perm=[0,1,2,4,3]}), 0.176776695), bias)
    o = Mul(MatMul(Softmax(s), v), Sigmoid(gate))
    y = Exp(Add(pair, MatMul(Reshape(Transpose(o) {perm=[0,1,3,2,4]}) {shape=[1,256,256,128]}, out)))
    output y
  )";
}

std::string transition() {
  return std::string(kPair) + R"(
    constant u: f32 128x512
    constant w: f32 512x128
    y = Exp(Add(pair, MatMul(Relu(MatMul(n, u)), w)))
    output y
  )";
}

// The plan for a limit that is one byte less than what `text` needs with whole rows.
std::shared_ptr<const Plan> plan_in_tiles(const std::string& text) {
  return plan_of(graph_of(text), {.memory_limit_bytes = plan_of(graph_of(text), {})->arena_bytes - 1});
}

// Three pair tensors and two of an alignment of the same size, and less where no projections lie side by side.
TEST(PairMemory, StaysWithinFivePairTensors) {
  EXPECT_LE(plan_of(graph_of(triangle_multiplication()), {})->inner_bytes, 5 * kPairBytes);
  EXPECT_LE(plan_in_tiles(triangle_attention())->inner_bytes, 5 * kPairBytes);
  EXPECT_LE(plan_in_tiles(transition())->inner_bytes, 4 * kPairBytes);
}

TEST(PairMemory, WithoutALimitRowsAreWhole) {
  EXPECT_GT(plan_of(graph_of(triangle_attention()), {})->inner_bytes, 6 * kPairBytes);
  EXPECT_GT(plan_of(graph_of(transition()), {})->inner_bytes, 5 * kPairBytes);
}

TEST(PairMemory, TilesAreCountedAsOneStructure) {
  const auto plan = plan_in_tiles(triangle_attention());
  EXPECT_EQ(plan->structures.at("attention"), 1);
  EXPECT_GT(std::count_if(plan->steps.begin(), plan->steps.end(),
                          [](const Step& step) { return step.op->name == "Attention"; }),
            1);
}

}  // namespace
}  // namespace plica
