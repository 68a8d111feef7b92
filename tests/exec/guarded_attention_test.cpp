#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

#include "tests/exec/run_plan.h"

namespace plica {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kHeads = 2, kLength = 20, kWidth = 16;

// Constants of heads, or of one matrix.
std::string constant(const std::string& name, int columns, const std::function<double(int, int, int)>& value) {
  std::string values;
  for (int head = 0; head < kHeads; ++head)
    for (int row = 0; row < kLength; ++row)
      for (int column = 0; column < columns; ++column) {
        std::ostringstream number;
        number << value(head, row, column);
        values += (values.empty() ? "" : ",") + number.str();
      }
  return "constant " + name + ": f32 " + std::to_string(kHeads) + "x" + std::to_string(kLength) + "x" +
         std::to_string(columns) + " = [" + values + "]\n";
}

// Attention as exporters write it, behind `weights` and with an end. Of the first head's rows of scores, 1 is all NaN, 2 has one NaN, 3 an
// infinity, 4 nothing but -inf; columns 5 and 6 of its values are not finite. Of the second head all scores are NaN.
std::string text_of(const std::string& weights, const std::string& end) {
  return constant("added_q", kWidth, [](int head, int row, int) { return head == 0 && row == 1 ? kNaN : 0.1 * row; }) +
         constant("added_k", kWidth, [](int head, int row, int) { return head == 1 && row == 7 ? kNaN : 0.2; }) +
         constant("added_v", kWidth,
                  [](int head, int row, int column) {
                    return head == 1 || row != 9 ? 0.5 : column == 5 ? kNaN : column == 6 ? kInfinity : 1;
                  }) +
         constant("bias", kLength,
                  [](int, int row, int key) {
                    if (row == 4) return -kInfinity;
                    return key != 11 ? 0.01 * key : row == 2 ? kNaN : row == 3 ? kInfinity : 0;
                  }) +
         "input x: f32 2x20x16\nwave = Sin(Mul(x, 0.7))\n"
         "s = MatMul(Add(wave, added_q), Transpose(Add(wave, added_k)) {perm=[0,2,1]})\n"
         "w = Softmax(Add(s, bias))\n" +
         weights + "y = MatMul(u, Add(wave, added_v))\n" + end;
}

bool is_same(double found, double wanted) {
  if (std::isnan(wanted)) return std::isnan(found);
  return found == wanted || std::abs(found - wanted) < 1e-4;
}

void expect_as_unfused(const std::string& text) {
  const auto plan = plan_of(graph_of(text)), plain = plan_of(graph_of(text), {.skip_passes = {"fuse_attention"}});
  ASSERT_THAT(steps_of(*plan), testing::HasSubstr("Attention"));
  ASSERT_THAT(steps_of(*plain), testing::Not(testing::HasSubstr("Attention")));
  const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*plain)[0]);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(is_same(found[i], wanted[i]))
        << found[i] << ", not " << wanted[i] << " at row " << i / kWidth << ", column " << i % kWidth << "\n"
        << text;
}

constexpr const char* kGuard = "u = Where(IsNaN(w), 0, w)\n";
constexpr const char* kNoGuard = "u = Reshape(w) {shape=[2,20,20]}\n";
constexpr const char* kEnd = "output y\n";
constexpr const char* kGated = "z = Mul(y, Sigmoid(wave))\noutput z\n";

TEST(GuardedAttention, IsAsItsSingleSteps) {
  expect_as_unfused(text_of(kGuard, kEnd));
  expect_as_unfused(text_of(kGuard, kGated));
}

TEST(GuardedAttention, SpreadsNaNWithoutAGuard) {
  expect_as_unfused(text_of(kNoGuard, kEnd));
  expect_as_unfused(text_of(kNoGuard, kGated));
}

TEST(GuardedAttention, GivesZerosForWeightsOfNaN) {
  const std::vector<double> y = values_of(run_plan(*plan_of(graph_of(text_of(kGuard, kEnd))))[0]);
  for (const int row : {1, 2, 3, 4, 20, 39}) {
    EXPECT_EQ(y[static_cast<size_t>(row * kWidth)], 0) << row;
    EXPECT_EQ(std::isnan(y[static_cast<size_t>(row * kWidth + 6)]), row < 20) << row;
  }
  EXPECT_NE(y[0], 0);
}

}  // namespace
}  // namespace plica
