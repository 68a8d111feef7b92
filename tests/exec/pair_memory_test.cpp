#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr size_t kPairBytes = size_t{256} * 256 * 128 * 4;  // N x N x c_z

// Sin stands for what makes the pair representation, so that it lies in the arena.
constexpr const char* kPair = R"(
    input z: f32 1x256x256x128
    input mask: f32 1x256x256x1
    pair = Sin(z)
    constant g: f32 128
    n = LayerNorm(pair, g)
)";

// What comes behind: `y` in the arena too, or in the caller's memory.
constexpr const char* kInside = "    last = Exp(y)\n    output last\n";
constexpr const char* kLast = "    output y\n";

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
    y = Add(pair, Mul(Sigmoid(MatMul(n, gate)), o))
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
    y = Add(pair, MatMul(Reshape(Transpose(o) {perm=[0,1,3,2,4]}) {shape=[1,256,256,128]}, out))
  )";
}

std::string transition() {
  return std::string(kPair) + R"(
    constant u: f32 128x512
    constant w: f32 512x128
    y = Add(pair, MatMul(Relu(MatMul(n, u)), w))
  )";
}

// The plan for a limit that is one byte less than what `text` needs without tiles of rows.
std::shared_ptr<const Plan> plan_in_tiles(const std::string& text) {
  const auto whole = plan_of(graph_of(text), {.skip_passes = {"tile_rows"}});
  return plan_of(graph_of(text), {.memory_limit_bytes = whole->arena_bytes - 1});
}

// Three pair tensors and two of an alignment of the same size, and less where no projections lie side by side.
TEST(PairMemory, StaysWithinFivePairTensors) {
  EXPECT_LE(plan_of(graph_of(triangle_multiplication() + kInside), {})->inner_bytes, 5 * kPairBytes);
  EXPECT_LE(plan_in_tiles(triangle_attention() + kInside)->inner_bytes, 5 * kPairBytes);
  EXPECT_LE(plan_in_tiles(transition() + kInside)->inner_bytes, 4 * kPairBytes);
}

TEST(PairMemory, TilesAreCountedAsOneStructure) {
  const auto plan = plan_in_tiles(triangle_attention() + kInside);
  EXPECT_EQ(plan->structures.at("attention"), 1);
  EXPECT_GT(std::count_if(plan->steps.begin(), plan->steps.end(),
                          [](const Step& step) { return step.op->name == "Attention"; }),
            1);
}

// Writes the text of an Evoformer block: alignments of 128 rows and 256 columns with 256 channels, pairs with 128.
class Block {
 public:
  std::string text() {
    text_ = R"(
      input m0: f32 1x128x256x256
      input z0: f32 1x256x256x128
    )";
    attention("m1", "m0", {128, 256, 256}, "zb", false);
    attention("m2", "m1", {128, 256, 256}, "", true);
    transition("m3", "m2", 256);
    line("z1 = OuterProductMean(MatMul(LayerNorm(m3), " + weight(256, 32) + "), MatMul(LayerNorm(m3), " +
         weight(256, 32) + "), " + weight(1024, 128) + ", _, _, z0)");
    multiplication("z2", "z1", "[0,3,1,2]", "[0,3,2,1]");
    multiplication("z3", "z2", "[0,3,2,1]", "[0,3,1,2]");
    attention("z4", "z3", {256, 256, 128}, "self", false);
    attention("z5", "z4", {256, 256, 128}, "self", true);
    transition("z6", "z5", 128);
    return text_ + "output m3\noutput z6\n";
  }

 private:
  struct Size {
    int rows, columns, channels;
    int heads() const { return channels / 32; }
  };

  void line(const std::string& line) { text_ += "      " + line + "\n"; }

  std::string weight(int rows, int columns) {
    const std::string name = "w" + std::to_string(num_weights_++);
    line("constant " + name + ": f32 " + std::to_string(rows) + "x" + std::to_string(columns));
    return name;
  }

  static std::string list(std::initializer_list<int> values) {
    std::string text;
    for (int value : values) text += (text.empty() ? "[" : ",") + std::to_string(value);
    return text + "]";
  }

  // `bias` names what the bias of scores comes from: the pair representation, the input itself, nothing.
  void attention(const std::string& y, const std::string& x, Size size, const std::string& bias, bool of_columns) {
    const int rows = of_columns ? size.columns : size.rows, columns = of_columns ? size.rows : size.columns;
    const std::string turned = of_columns ? "Transpose(" + x + ") {perm=[0,2,1,3]}" : x;
    line(y + "n = LayerNorm(" + turned + ")");
    for (const std::string part : {"q", "k", "v", "g"}) {
      const std::string w = weight(size.channels, size.channels);
      line(y + part + " = Transpose(Reshape(MatMul(" + y + "n, " + w +
           ")) {shape=" + list({1, rows, columns, size.heads(), 32}) + "}) {perm=[0,1,3,2,4]}");
    }
    std::string scores = "Mul(MatMul(" + y + "q, Transpose(" + y + "k) {perm=[0,1,2,4,3]}), 0.176776695)";
    if (!bias.empty()) {
      const std::string from = bias == "self" ? y + "n" : "z0", w = weight(128, size.heads());
      line(y + "b = Reshape(Transpose(MatMul(" + from + ", " + w +
           ")) {perm=[0,3,1,2]}) {shape=" + list({1, 1, size.heads(), 256, 256}) + "}");
      scores = "Add(" + scores + ", " + y + "b)";
    }
    line(y + "o = Mul(MatMul(Softmax(" + scores + "), " + y + "v), Sigmoid(" + y + "g))");
    std::string out = "MatMul(Reshape(Transpose(" + y +
                      "o) {perm=[0,1,3,2,4]}) {shape=" + list({1, rows, columns, size.channels}) + "}, " +
                      weight(size.channels, size.channels) + ")";
    if (of_columns) out = "Transpose(" + out + ") {perm=[0,2,1,3]}";
    line(y + " = Add(" + x + ", " + out + ")");
  }

  void transition(const std::string& y, const std::string& x, int channels) {
    const std::string up = weight(channels, 4 * channels), down = weight(4 * channels, channels);
    line(y + " = Add(" + x + ", MatMul(Relu(MatMul(LayerNorm(" + x + "), " + up + ")), " + down + "))");
  }

  void multiplication(const std::string& y, const std::string& x, const std::string& left, const std::string& right) {
    line(y + "n = LayerNorm(" + x + ")");
    std::string projections[4];
    for (std::string& projection : projections) projection = "MatMul(" + y + "n, " + weight(128, 128) + ")";
    line(y + "l = Mul(Sigmoid(" + projections[0] + "), " + projections[1] + ")");
    line(y + "r = Mul(Sigmoid(" + projections[2] + "), " + projections[3] + ")");
    line(y + "p = Transpose(MatMul(Transpose(" + y + "l) {perm=" + left + "}, Transpose(" + y + "r) {perm=" + right +
         "})) {perm=[0,2,3,1]}");
    const std::string out = weight(128, 128), gate = weight(128, 128);
    line(y + " = Add(" + x + ", Mul(Sigmoid(MatMul(" + y + "n, " + gate + ")), MatMul(LayerNorm(" + y + "p), " + out +
         ")))");
  }

  std::string text_;
  int num_weights_ = 0;
};

TEST(PairMemory, AnEvoformerBlockStaysWithinThreePairTensorsAndTwoAlignments) {
  constexpr size_t kAlignmentBytes = size_t{128} * 256 * 256 * 4;
  const auto plan = plan_of(graph_of(Block().text()), {});
  EXPECT_EQ(plan->structures.at("attention"), 4);
  EXPECT_LE(plan->inner_bytes, 3 * kPairBytes + 2 * kAlignmentBytes);
}

double difference_to_reference(const std::string& text) {
  const auto plan = plan_of(graph_of(text)), plain = plan_of(graph_of(text), {.reference = true});
  const Tensor found = std::move(run_plan(*plan)[0]), wanted = std::move(run_plan(*plain)[0]);
  double most = 0;
  for (int64_t i = 0; i < num_elements(wanted.shape()); ++i) {
    const double a = found.as<float>()[i], b = wanted.as<float>()[i], difference = std::abs(a - b) / (1 + std::abs(b));
    if (!(difference <= most)) most = difference;  // NaN too, and it stays
    if (std::isnan(most)) break;
  }
  return most;
}

// Large enough that attention stands over its queries and the last sum in the output's memory, on a device with a queue.
TEST(PairMemory, WhatIsWrittenOverOperandsIsRight) {
  if (tests_the_cpu()) GTEST_SKIP() << "takes minutes on a CPU";
  EXPECT_LE(difference_to_reference(triangle_attention() + kLast), 1e-4);
  EXPECT_LE(difference_to_reference(transition() + kLast), 1e-4);
}

TEST(PairMemory, WhatStandsInMemoryOnceIsNotWrittenOver) {
  for (const std::string op : {"LayerNorm", "Softmax", "Tanh"})
    EXPECT_LE(difference_to_reference("input x: f32 1x1024\nconstant w: f32 1024x2\n"
                                      "e = Expand(Softmax(x)) {shape=[4096,1024]}\n"
                                      "y = MatMul(" +
                                      op + "(e), w)\noutput y\n"),
              1e-3)
        << op;
}

}  // namespace
}  // namespace plica
