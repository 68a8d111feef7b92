#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/attention.h"
#include "runtime/core/shape.h"
#include "tests/harness/op_cases.h"

namespace plica {
namespace {

// Beyond the operator's table: what the CUDA kernels of Attention choose by width, length, precision and what operands share.

using ops::Attention;
const std::vector<DType> kTypes = {DType::kF32, DType::kF16, DType::kBF16};
const OperandSpec kNone{.absent = true};

OperandSpec heads(Shape shape) { return {std::move(shape), Layout::kHeads}; }

OperandSpec bools(Shape shape) { return {.shape = std::move(shape), .dtype = DType::kBool}; }

OperandSpec added(Shape shape) { return {.shape = std::move(shape), .fill = Fill::kMask}; }

OperandSpec offsets(std::vector<double> values) {
  return {.shape = {static_cast<int64_t>(values.size())}, .dtype = DType::kI64, .values = std::move(values)};
}

class CudaAttention : public testing::Test {
 protected:
  // In every type; fp32 in every precision.
  void add(const std::string& name, const Attention& op, const std::vector<OperandSpec>& in) {
    constexpr double kTf32 = 300;  // times the tolerance of fp32
    table_.cases.push_back({name, op, in, kTypes});
    table_.cases.push_back({name + " in tf32", op, in, {DType::kF32}, kTf32, Precision::kTf32});
    table_.cases.push_back({name + " in tf32x3", op, in, {DType::kF32}, 1, Precision::kTf32x3});
  }
  void add_width(int64_t width) {
    const OperandSpec q = heads({3, 2, 65, width}), k = heads({3, 2, 70, width});
    add("width " + std::to_string(width), {.scale = 0.25}, {q, k, k, {{2, 65, 70}}, bools({3, 1, 1, 70}), q});
  }
  // So many heads that blocks take several of them.
  void add_shared_bias(int64_t width) {
    const OperandSpec q = heads({2, 71, 2, 65, width}), k = heads({2, 71, 2, 129, width});
    add("width " + std::to_string(width), {.scale = 0.2},
        {q, k, k, {{2, 1, 2, 65, 129}}, added({2, 71, 1, 1, 129}), q});
  }
  void add_singles(const std::string& name, const Attention& op, const std::vector<OperandSpec>& in) {
    table_.cases.push_back({name, op, in, {DType::kF32}});
  }
  // In the types of 16 bits, for shapes that the kernel `wgmma` takes: over 64 queries a head, and tiles enough of them.
  void add_halves(const std::string& name, const Attention& op, const std::vector<OperandSpec>& in) {
    table_.cases.push_back({name, op, in, {DType::kF16, DType::kBF16}});
  }
  void TearDown() override { expect_kernels_agree(table_); }

  OpTable table_{.op = "Attention", .every_kernel = false};
};

TEST_F(CudaAttention, NarrowHeads) {
  for (const int64_t width : {1, 8, 16, 24, 32}) add_width(width);
}
TEST_F(CudaAttention, WideHeads) {
  for (const int64_t width : {40, 64, 72, 128}) add_width(width);
}
TEST_F(CudaAttention, WidestHeads) {
  for (const int64_t width : {136, 256}) add_width(width);
  add("wider than tiles", {.scale = 0.25}, {{{2, 9, 300}}, {{2, 10, 300}}, {{2, 10, 270}}});
}
TEST_F(CudaAttention, ValuesOfAnotherWidth) {
  add("values wider", {.scale = 0.25}, {{{2, 33, 16}}, {{2, 34, 16}}, {{2, 34, 40}}});
  add("values narrower", {.scale = 0.25}, {{{2, 33, 40}}, {{2, 34, 40}}, {{2, 34, 7}}});
}

TEST_F(CudaAttention, LongRows) {
  const OperandSpec row = heads({4, 4, 257, 32});
  add("rows of length 257", {.scale = 0.2}, {row, row, row, {{4, 257, 257}}, kNone, row});
}
TEST_F(CudaAttention, ALittleOverWholeTiles) {
  const OperandSpec q = heads({11, 2, 129, 24}), k = heads({11, 2, 144, 24});
  const OperandSpec row = heads({7, 2, 257, 24}), column = heads({7, 2, 264, 24});
  add_halves("rows and keys", {.scale = 0.2}, {q, q, q});
  add_halves("a mask and a gate", {.scale = 0.2, .fill = -1e9}, {q, k, k, kNone, bools({11, 1, 1, 144}), q});
  add_halves("a bias", {.scale = 0.2}, {row, column, column, {{2, 257, 264}}, added({7, 1, 1, 264}), row});
}
TEST_F(CudaAttention, Columns) {
  const OperandSpec column{{130, 2, 70, 16}, Layout::kTransposed};
  add("columns in memory", {.scale = 0.2}, {column, column, column, {{2, 70, 70}, Layout::kTransposed}});
}
TEST_F(CudaAttention, RowsApart) {
  const OperandSpec gapped{{3, 2, 70, 24}, Layout::kGapped}, reversed{{3, 2, 70, 24}, Layout::kReversed};
  add("gaps", {.scale = 0.2}, {gapped, gapped, gapped, {{2, 70, 70}, Layout::kGapped}, kNone, gapped});
  add("backwards", {.scale = 0.2}, {reversed, reversed, reversed});
}

TEST_F(CudaAttention, BiasSharedByManyRowsOfWidth16) { add_shared_bias(16); }
TEST_F(CudaAttention, BiasSharedByManyRowsOfWidth24) { add_shared_bias(24); }
TEST_F(CudaAttention, BiasSharedByManyRowsOfWidth64) { add_shared_bias(64); }

TEST_F(CudaAttention, MasksBesideBias) {
  const OperandSpec q = heads({3, 2, 70, 32}), k = heads({3, 2, 90, 32}), bias{{2, 70, 90}};
  add("bool by key", {.fill = -INFINITY}, {q, k, k, bias, bools({3, 1, 1, 90})});
  add("bool by row and key", {.fill = -1e9}, {q, k, k, bias, bools({3, 1, 70, 90})});
}
TEST_F(CudaAttention, MasksAlone) {
  const OperandSpec q = heads({3, 2, 70, 32}), k = heads({3, 2, 90, 32});
  add("lowest number by row and key", {.fill = -3.4e38}, {q, k, k, kNone, bools({70, 90})});
  add("added by key", {}, {q, k, k, kNone, added({3, 1, 1, 90})});
  add("added by row and key", {}, {q, k, k, kNone, added({2, 70, 90})});
}
TEST_F(CudaAttention, RowsWithoutKeys) {
  for (const double fill : std::initializer_list<double>{-INFINITY, -1e4}) {
    const OperandSpec few = heads({64, 2, 3, 32}), keys = heads({64, 2, 2, 32});
    add("rows without keys", {.fill = fill}, {few, keys, keys, kNone, bools({64, 1, 1, 2})});
    add("zeroed", {.fill = fill, .zero_rows = ops::ZeroRows::kMasked}, {few, keys, keys, kNone, bools({64, 1, 1, 2})});
  }
}

// Each number of rows that blocks have whose warps split the keys.
TEST_F(CudaAttention, SplitKeys) {
  const auto add = [&](int64_t width, int64_t num_heads, int64_t rows) {
    const OperandSpec q = heads({num_heads, rows, width}), k = heads({num_heads, 70, width});
    add_singles("width " + std::to_string(width) + ", heads " + std::to_string(num_heads),
                {.scale = 0.25, .fill = -INFINITY}, {q, k, k, {{rows, 70}}, bools({num_heads, 1, 70}), q});
  };
  for (const int64_t width : {16, 24, 64, 72}) {
    add(width, 3, 33);
    add(width, 300, 17);
  }
  add(64, 34, 64);
}
// Warps of whose keys a row sees none, and warps whose largest scores are far apart or far from zero.
TEST_F(CudaAttention, SplitKeysOfWhichFewCount) {
  const OperandSpec q = heads({2, 20, 32}), k = heads({2, 260, 32});
  OperandSpec mask = bools({260}), near{{20, 260}}, far{{20, 260}};
  for (int i = 0; i < 260; ++i) mask.values.push_back(i >= 100 && i < 110);
  for (int i = 0; i < 20 * 260; ++i) {
    near.values.push_back(i % 260 / 8);
    far.values.push_back(2e5 + i % 260 / 8);
  }
  for (const double fill : std::initializer_list<double>{-INFINITY, -1e4, -3.4e38})
    add_singles("most masked", {.fill = fill}, {q, k, k, kNone, mask});
  add_singles("growing", {.scale = 0.2}, {q, k, k, near});
  add_singles("far from zero", {.scale = 0}, {q, k, k, far});
  add_singles("no keys", {}, {q, heads({2, 0, 32}), heads({2, 0, 32})});
}

TEST_F(CudaAttention, CausalAndSegments) {
  const OperandSpec q = heads({2, 2, 200, 32}), bias{{2, 200, 200}};
  add("causal", {.scale = 0.3, .causal = true}, {q, q, q, bias});
  add("segments", {.scale = 0.3}, {q, q, q, bias, kNone, q, offsets({0, 3, 3, 70, 190})});
  add("causal segments", {.scale = 0.3, .causal = true}, {q, q, q, kNone, kNone, kNone, offsets({0, 100, 200})});
  add("no segments", {.scale = 0.3}, {q, q, q, kNone, kNone, kNone, offsets({0})});
}

TEST_F(CudaAttention, EveryWidthOfWarpgroups) {
  for (const int64_t width : {8, 24, 32, 40, 64, 72, 128}) {
    const OperandSpec q = heads({32, 1, 65, width}), k = heads({32, 1, 130, width});
    const std::string name = "width " + std::to_string(width);
    if (width == 32 || width == 72)
      add_halves(name, {.scale = 0.25}, {q, k, k});
    else
      add_halves(name, {.scale = 0.25}, {q, k, k, {{1, 65, 130}}, bools({32, 1, 1, 130}), q});
  }
}
TEST_F(CudaAttention, EveryLengthOfWarpgroups) {
  const OperandSpec q = heads({32, 1, 70, 16});
  add_halves("values wider", {.scale = 0.25}, {q, heads({32, 1, 80, 16}), heads({32, 1, 80, 40})});
  for (const int64_t length : {129, 193, 257})  // by as many warpgroups as suit them
    add_halves("length " + std::to_string(length), {}, {heads({32, 1, length, 16}), q, q, {{length, 70}}});
}

TEST_F(CudaAttention, MasksOfWarpgroups) {
  const OperandSpec near = heads({2, 8, 128, 32});
  add_halves("bool by head and key", {.fill = -1e9}, {near, near, near, kNone, bools({2, 8, 1, 128})});
  add_halves("added by head and key", {}, {near, near, near, kNone, added({1, 8, 1, 128})});
  const OperandSpec q = heads({16, 2, 70, 32}), k = heads({16, 2, 88, 32}), bias{{2, 70, 88}};
  add_halves("bool by key", {.fill = -INFINITY}, {q, k, k, bias, bools({16, 1, 1, 88})});
  add_halves("bool by row and key", {.fill = -1e9}, {q, k, k, bias, bools({16, 1, 70, 88})});
  add_halves("lowest number by row and key", {.fill = -3.4e38}, {q, k, k, kNone, bools({70, 88})});
  add_halves("added by key", {}, {q, k, k, bias, added({16, 1, 1, 88})});
  add_halves("added by row and key", {}, {q, k, k, kNone, added({2, 70, 88})});
  for (const double fill : std::initializer_list<double>{-INFINITY, -1e4}) {
    const OperandSpec many = heads({64, 1, 66, 32}), few = heads({64, 1, 2, 32});
    add_halves("rows without keys", {.fill = fill}, {many, few, few, kNone, bools({64, 1, 1, 2})});
    const Attention zeroed{.fill = fill, .zero_rows = ops::ZeroRows::kMasked};
    add_halves("zeroed", zeroed, {many, few, few, kNone, bools({64, 1, 1, 2})});
  }
  add_halves("no keys", {}, {heads({64, 1, 66, 32}), heads({64, 1, 0, 32}), heads({64, 1, 0, 32})});
}

TEST_F(CudaAttention, CausalAndSegmentsOfWarpgroups) {
  const OperandSpec q = heads({8, 2, 200, 32}), bias{{2, 200, 200}};
  add_halves("causal", {.scale = 0.3, .causal = true}, {q, q, q, bias});
  add_halves("segments", {.scale = 0.3}, {q, q, q, bias, kNone, q, offsets({0, 3, 3, 70, 190})});
  add_halves("causal segments", {.scale = 0.3, .causal = true}, {q, q, q, kNone, kNone, kNone, offsets({0, 100, 200})});
  add_halves("no segments", {.scale = 0.3}, {q, q, q, kNone, kNone, kNone, offsets({0})});
}

// Heads that go through a block two at a time, and such as cannot.
TEST_F(CudaAttention, NeighbouringHeadsOfWarpgroups) {
  const OperandSpec q = heads({9, 4, 100, 32}), k = heads({9, 4, 150, 32});
  add_halves("pairs", {.scale = 0.2}, {q, k, k});
  add_halves("pairs with gates", {.scale = 0.2, .fill = -INFINITY}, {q, k, k, kNone, bools({9, 1, 1, 150}), q});
  add_halves("pairs with another's gates", {.scale = 0.2}, {q, k, k, kNone, kNone, {{9, 4, 100, 32}}});
  const OperandSpec odd = heads({9, 5, 100, 32}), apart{{9, 4, 100, 32}}, many = heads({3, 5, 2, 120, 32});
  add_halves("an odd number of heads", {.scale = 0.2}, {odd, odd, odd});
  add_halves("heads apart", {.scale = 0.2}, {apart, apart, apart, kNone, kNone, apart});
  add_halves("two axes before the heads", {.scale = 0.2}, {many, many, many, kNone, added({3, 1, 1, 1, 120}), many});
}

// Scores that grow from tile to tile, so that origins move.
TEST_F(CudaAttention, ScoresThatGrowOfWarpgroups) {
  OperandSpec bias{{1, 130, 260}};
  for (int64_t i = 0; i < num_elements(bias.shape); ++i) bias.values.push_back(static_cast<double>(i % 260 / 8));
  for (const int64_t width : {32, 64}) {
    const OperandSpec q = heads({32, 1, 130, width}), k = heads({32, 1, 260, width});
    add_halves("width " + std::to_string(width), {.scale = 0.2}, {q, k, k, bias});
  }
}

// What is not finite, and not seen by some of the rows that share a tile with it.
class CudaAttentionToNothingFinite : public CudaAttention {
 protected:
  void add(int64_t num_heads, int64_t width) {
    const OperandSpec q = heads({num_heads, 150, width}), k = poisoned(q, {140, 149});
    const OperandSpec v = poisoned(q, {1, 69, 90, 140, 149}), bias{{150, 150}};
    const OperandSpec some = offsets({0, 3, 70, 100, 130});
    if (num_heads == 2) CudaAttention::add("segments", {.scale = 0.3}, {q, k, v, bias, kNone, q, some});
    add_halves("segments", {.scale = 0.3}, {q, k, v, bias, kNone, q, some});
    add_halves("causal", {.scale = 0.3, .causal = true},
               {q, k, v});  // the CPU's kernel of f32 multiplies what is hidden
  }

 private:
  static OperandSpec poisoned(OperandSpec spec, const std::set<int64_t>& rows) {
    for (int64_t i = 0; i < num_elements(spec.shape); ++i) {
      const double value = static_cast<double>(i * 7919 % 2001) / 1000 - 1;
      spec.values.push_back(!rows.contains(i / spec.shape.back() % 150) ? value : i % 3 == 0 ? INFINITY : NAN);
    }
    return spec;
  }
};

TEST_F(CudaAttentionToNothingFinite, Narrow) { add(2, 16); }
TEST_F(CudaAttentionToNothingFinite, Wide) {
  add(2, 64);
  add(2, 128);
}
TEST_F(CudaAttentionToNothingFinite, ManyNarrow) { add(22, 32); }
TEST_F(CudaAttentionToNothingFinite, ManyWide) { add(22, 128); }

// Bias whose rows are no whole 16 bytes, or not side by side, for many heads and for few.
TEST_F(CudaAttention, BiasThatIsCopied) {
  for (const int64_t heads_of_bias : {1, 32}) {
    const OperandSpec q = heads({32, 1, 77, 32});
    add_halves("odd", {.scale = 0.2}, {q, q, q, {{heads_of_bias, 1, 77, 77}}, added({32, 1, 1, 77}), q});
    add_halves("columns", {.scale = 0.2}, {q, q, q, {{heads_of_bias, 1, 77, 77}, Layout::kTransposed}});
    add_halves("heads last", {.scale = 0.2}, {q, q, q, {{heads_of_bias, 1, 77, 77}, Layout::kHeads}});
    add_halves("of keys", {.scale = 0.2}, {q, q, q, {{heads_of_bias, 1, 1, 77}}});
    add_halves("of rows", {.scale = 0.2}, {q, q, q, {{heads_of_bias, 1, 77, 1}}});
  }
}

// More work than a device takes at once.
TEST_F(CudaAttention, ManyHeads) {
  const OperandSpec q = heads({150, 4, 66, 8});
  add_halves("bias", {.scale = 0.2}, {q, q, q, {{4, 66, 66}}, kNone, q});
}

TEST_F(CudaAttention, SizesOfNothing) {
  add("no rows", {}, {{{2, 0, 8}}, {{2, 3, 8}}, {{2, 3, 8}}});
  add("no keys", {}, {{{2, 3, 8}}, {{2, 0, 8}}, {{2, 0, 8}}});
  add("no heads", {}, {{{0, 3, 8}}, {{0, 3, 8}}, {{0, 3, 8}}});
  add("no columns", {}, {{{2, 3, 8}}, {{2, 3, 8}}, {{2, 3, 0}}});
  add("no width", {}, {{{2, 3, 0}}, {{2, 3, 0}}, {{2, 3, 8}}});
}

// Rounded to 16 bits, weights beside scores that are not scaled may be off by more than a file's own arithmetic.
TEST(CudaAttentionOfFiles, ABiasAndAnAddedMaskKeepTheirWeights) {
  const Kernels all = kernels(attention_op, Device::kCuda);
  if (all.empty()) GTEST_SKIP() << "a build without CUDA";
  const ops::Attention op;
  const TensorType q{DType::kBF16, {2, 4, 70, 32}, {}}, bias{DType::kBF16, {4, 70, 70}, {}},
      mask{DType::kBF16, {2, 1, 1, 70}, {}};
  std::vector<Operand> in(7);
  const TensorType* const types[] = {&q, &q, &q, &bias, &mask};
  for (size_t i = 0; i < std::size(types); ++i) in[i].type = types[i];
  const auto first_taking = [&](Precision precision) {
    const Case c{in, std::span(in).first(1), {Device::kCuda, 1, 80, size_t{160} << 10}, precision};
    const auto takes = [&](const Kernel& kernel) { return kernel.declines(&op, c) == nullptr; };
    return std::ranges::find_if(all, takes)->name;
  };
  EXPECT_EQ(first_taking(Precision::kFile), "row");
  EXPECT_EQ(first_taking(Precision::kBf16), "mma");
}

}  // namespace
}  // namespace plica
