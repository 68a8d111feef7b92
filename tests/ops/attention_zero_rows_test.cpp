#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ops/attention.h"
#include "runtime/core/shape.h"
#include "tests/harness/op_cases.h"

namespace plica {
namespace {

// Rows of Attention whose softmax is NaN throughout, as they are or with zeros for weights, in every kernel.

using ops::Attention;
using ops::ZeroRows;

using Value = std::function<double(int64_t row, int64_t column, double usual)>;

// Values in [-1, 1] but for what `value` makes of them.
OperandSpec values(Shape shape, const Value& value) {
  OperandSpec spec{.shape = std::move(shape)};
  const int64_t columns = spec.shape.back(), rows = spec.shape.end()[-2];
  for (int64_t i = 0; i < num_elements(spec.shape); ++i)
    spec.values.push_back(value(i / columns % rows, i % columns, static_cast<double>(i * 7919 % 2001) / 1000 - 1));
  return spec;
}

OperandSpec queries(Shape shape) {
  return values(std::move(shape), [](auto row, auto, double x) { return row == 1 ? NAN : x; });
}
OperandSpec usual(Shape shape) {
  return values(std::move(shape), [](auto, auto, double x) { return x; });
}
// Some of its columns spoil the results of all rows that see that key.
OperandSpec spoiling(Shape shape, int64_t key) {
  return values(std::move(shape),
                [key](auto row, auto column, double x) { return row == key && column % 7 == 3 ? NAN : x; });
}
// Row 2 sees nothing; row 3 has a NaN and row 4 an infinity, in tiles of keys that are neither first nor alone.
OperandSpec bias(Shape shape) {
  const int64_t last = shape.back() - 1;
  return values(std::move(shape), [last](int64_t row, int64_t key, double x) {
    if (row == 2) return -static_cast<double>(INFINITY);
    if (key != last && key != last - 40) return x;
    return row == 3 ? NAN : row == 4 ? INFINITY : x;
  });
}

class AttentionZeroRows : public testing::TestWithParam<ZeroRows> {
 protected:
  void add(const std::string& name, const Attention& op, const std::vector<OperandSpec>& in) {
    constexpr double kTf32 = 300;  // times the tolerance of fp32
    table_.cases.push_back({name, op, in, kFloats});
    table_.cases.push_back({name + " in tf32", op, in, {DType::kF32}, kTf32, Precision::kTf32});
    table_.cases.push_back({name + " in tf32x3", op, in, {DType::kF32}, 1, Precision::kTf32x3});
  }
  void add_halves(const std::string& name, const Attention& op, const std::vector<OperandSpec>& in) {
    table_.cases.push_back({name, op, in, {DType::kF16, DType::kBF16}});
  }
  void TearDown() override { expect_kernels_agree(table_); }

  static Attention op() { return {.scale = 0.25, .fill = -INFINITY, .zero_rows = GetParam()}; }

  OpTable table_{.op = "Attention", .every_kernel = false};
};

TEST_P(AttentionZeroRows, OfFewHeads) {
  const OperandSpec none{.absent = true};
  for (const int64_t width : {24, 64, 128}) {
    const Shape q{2, 20, width}, k{2, 70, width};
    const std::string name = "width " + std::to_string(width);
    add(name, op(), {queries(q), usual(k), spoiling(k, 30), bias({20, 70}), none, usual(q)});
  }
  add("finite values", op(), {queries({2, 20, 24}), usual({2, 70, 24}), usual({2, 70, 24}), bias({20, 70})});
}

TEST_P(AttentionZeroRows, OfManyHeads) {
  for (const int64_t width : {32, 64, 128}) {
    const int64_t num_heads = width == 32 ? 32 : 8;
    const Shape q{num_heads, 1, 70, width}, k{num_heads, 1, 130, width};
    add_halves("width " + std::to_string(width), op(), {queries(q), usual(k), spoiling(k, 30), bias({70, 130})});
  }
  const Shape shared{2, 140, 1, 10, 16};
  add("bias of many", op(), {queries(shared), usual(shared), usual(shared), bias({2, 1, 1, 10, 10})});
}

TEST_P(AttentionZeroRows, WhereKeysAreMasked) {
  const auto add_masked = [&](int64_t batch, int64_t rows, bool halves) {
    OperandSpec mask{.shape = {batch, 1, 1, 150}, .dtype = DType::kBool}, none{.absent = true};
    for (int64_t i = 0; i < batch * 150; ++i) mask.values.push_back(i >= 150 && i % 3 != 0);
    OperandSpec q = queries({batch, 4, rows, 32}), gate = usual({batch, 4, rows, 32}), v = usual({batch, 4, 150, 32});
    OperandSpec k =
        values({batch, 4, 150, 32}, [](auto row, auto, double x) { return row == 30 ? NAN : x; });  // masked
    if (halves) v = spoiling({batch, 4, 150, 32}, 30);
    for (OperandSpec* x : {&q, &k, &v, &gate}) x->layout = Layout::kHeads;
    halves ? add_halves("pairs", op(), {q, k, v, none, mask, gate}) : add("few", op(), {q, k, v, none, mask, gate});
  };
  add_masked(2, 10, false);
  add_masked(9, 100, true);
}

// What is not finite touches rows of its own segment only.
TEST_P(AttentionZeroRows, OfSegments) {
  const OperandSpec offsets{.shape = {5}, .dtype = DType::kI64, .values = {0, 3, 70, 100, 130}}, none{.absent = true};
  const auto operands = [&](const Shape& q, int64_t key) -> std::vector<OperandSpec> {
    const OperandSpec keys = values(q, [](auto row, auto, double x) { return row == 75 ? NAN : x; });
    return {queries(q), keys, spoiling(q, key), none, none, none, offsets};
  };
  for (const int64_t key : {75, 110}) {
    add("spoilt beside row " + std::to_string(key), op(), operands({2, 150, 32}, key));
    add_halves("many heads", op(), operands({22, 150, 32}, key));
  }
}

// Nor rows that see keys up to themselves.
TEST_P(AttentionZeroRows, OfCausalRows) {
  Attention causal = op();
  causal.causal = true;
  const auto key_30 = [](auto row, auto, double x) { return row == 30 ? NAN : x; };
  const auto key_40 = [](auto row, auto, double x) { return row == 40 ? INFINITY : x; };
  const OperandSpec none{.absent = true};
  for (const int64_t width : {24, 64}) {
    const Shape q{2, 70, width};
    add("a value", causal, {queries(q), usual(q), spoiling(q, 30)});
    add("a key", causal, {queries(q), values(q, key_30), usual(q), none, none, usual(q)});
    add("a large key", causal, {usual(q), values(q, key_40), spoiling(q, 41)});
    add("with a bias", causal, {queries(q), values(q, key_30), spoiling(q, 30), bias({70, 70})});
    const Shape many{22, 150, width};
    add_halves("many heads", causal, {queries(many), values(many, key_30), spoiling(many, 75)});
  }
}

// Keys that a term of -1e9 hides have all the weight where a row sees no others: before the first of a causal order, and behind the
// last in a window.
TEST_P(AttentionZeroRows, OfHiddenKeysAlone) {
  Attention causal = op();
  causal.causal = true;
  const OperandSpec none{.absent = true}, k = usual({2, 70, 24});
  const OperandSpec early = values({2, 70, 24}, [](auto row, auto, double x) { return row < 20 ? 0 : x; });
  const OperandSpec late = values({2, 70, 24}, [](auto row, auto, double x) { return row > 57 ? 0 : x; });
  const OperandSpec first = values({1, 70}, [](auto, auto key, double) { return key < 20 ? -1e9 : 0; });
  const OperandSpec last = values({1, 70}, [](auto, auto key, double) { return key < 50 ? 0 : -1e9; });
  const auto window = [](double hidden) {
    return values({70, 70}, [hidden](auto row, auto key, double) { return std::abs(row - key) > 8 ? hidden : 0; });
  };
  for (const OperandSpec& gate : {none, k}) {
    table_.cases.push_back({"padding ahead", causal, {early, k, k, none, first, gate}, {DType::kF32}});
    for (const double hidden : {-static_cast<double>(INFINITY), -1e9})
      table_.cases.push_back(
          {"padding behind a window", op(), {late, k, k, window(hidden), last, gate}, {DType::kF32}});
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionZeroRows,
                         testing::Values(ZeroRows::kNone, ZeroRows::kMasked, ZeroRows::kUndefined));

}  // namespace
}  // namespace plica
