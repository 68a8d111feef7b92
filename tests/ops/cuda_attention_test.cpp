#include <gtest/gtest.h>

#include <cmath>

#include "ops/attention.h"
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
  void TearDown() override { expect_kernels_agree(table_); }

  OpTable table_{.op = "Attention", .every_kernel = false};
};

TEST_F(CudaAttention, EveryWidth) {
  for (const int64_t width : {1, 8, 16, 24, 32, 40, 64, 72, 128, 136, 256}) {
    const OperandSpec q = heads({3, 2, 65, width}), k = heads({3, 2, 70, width});
    add("width " + std::to_string(width), {.scale = 0.25}, {q, k, k, {{2, 65, 70}}, bools({3, 1, 1, 70}), q});
  }
  add("values wider", {.scale = 0.25}, {{{2, 33, 16}}, {{2, 34, 16}}, {{2, 34, 40}}});
  add("values narrower", {.scale = 0.25}, {{{2, 33, 40}}, {{2, 34, 40}}, {{2, 34, 7}}});
  add("wider than tiles", {.scale = 0.25}, {{{2, 9, 300}}, {{2, 10, 300}}, {{2, 10, 270}}});
}

TEST_F(CudaAttention, RowsAndColumns) {
  const OperandSpec row = heads({3, 4, 257, 32});
  add("rows of length 257", {.scale = 0.2}, {row, row, row, {{4, 257, 257}}, kNone, row});
  const OperandSpec column{{130, 2, 70, 16}, Layout::kTransposed};
  add("columns in memory", {.scale = 0.2}, {column, column, column, {{2, 70, 70}, Layout::kTransposed}});
  const OperandSpec gapped{{3, 2, 70, 24}, Layout::kGapped}, reversed{{3, 2, 70, 24}, Layout::kReversed};
  add("gaps", {.scale = 0.2}, {gapped, gapped, gapped, {{2, 70, 70}, Layout::kGapped}, kNone, gapped});
  add("backwards", {.scale = 0.2}, {reversed, reversed, reversed});
}

// So many heads that blocks take several of them.
TEST_F(CudaAttention, BiasSharedByManyRows) {
  for (const int64_t width : {16, 24, 64}) {
    const OperandSpec q = heads({2, 71, 2, 129, width});
    add("width " + std::to_string(width), {.scale = 0.2},
        {q, q, q, {{2, 1, 2, 129, 129}}, added({2, 71, 1, 1, 129}), q});
  }
}

TEST_F(CudaAttention, Masks) {
  const OperandSpec q = heads({3, 2, 70, 32}), k = heads({3, 2, 90, 32}), bias{{2, 70, 90}};
  add("bool by key", {.fill = -INFINITY}, {q, k, k, bias, bools({3, 1, 1, 90})});
  add("bool by row and key", {.fill = -1e9}, {q, k, k, bias, bools({3, 1, 70, 90})});
  add("lowest number by row and key", {.fill = -3.4e38}, {q, k, k, kNone, bools({70, 90})});
  add("added by key", {}, {q, k, k, kNone, added({3, 1, 1, 90})});
  add("added by row and key", {}, {q, k, k, kNone, added({2, 70, 90})});
  for (const double fill : std::initializer_list<double>{-INFINITY, -1e4}) {
    const OperandSpec few = heads({64, 2, 3, 32}), keys = heads({64, 2, 2, 32});
    add("rows without keys", {.fill = fill}, {few, keys, keys, kNone, bools({64, 1, 1, 2})});
    add("zeroed", {.fill = fill, .zero_masked_rows = true}, {few, keys, keys, kNone, bools({64, 1, 1, 2})});
  }
}

TEST_F(CudaAttention, CausalAndSegments) {
  const OperandSpec q = heads({2, 2, 200, 32}), bias{{2, 200, 200}};
  add("causal", {.scale = 0.3, .causal = true}, {q, q, q, bias});
  add("segments", {.scale = 0.3}, {q, q, q, bias, kNone, q, offsets({0, 3, 3, 70, 190})});
  add("causal segments", {.scale = 0.3, .causal = true}, {q, q, q, kNone, kNone, kNone, offsets({0, 100, 200})});
  add("no segments", {.scale = 0.3}, {q, q, q, kNone, kNone, kNone, offsets({0})});
}

TEST_F(CudaAttention, SizesOfNothing) {
  add("no rows", {}, {{{2, 0, 8}}, {{2, 3, 8}}, {{2, 3, 8}}});
  add("no keys", {}, {{{2, 3, 8}}, {{2, 0, 8}}, {{2, 0, 8}}});
  add("no heads", {}, {{{0, 3, 8}}, {{0, 3, 8}}, {{0, 3, 8}}});
  add("no columns", {}, {{{2, 3, 8}}, {{2, 3, 8}}, {{2, 3, 0}}});
  add("no width", {}, {{{2, 3, 0}}, {{2, 3, 0}}, {{2, 3, 8}}});
}

}  // namespace
}  // namespace plica
