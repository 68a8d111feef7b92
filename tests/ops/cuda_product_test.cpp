#include <gtest/gtest.h>

#include <cmath>

#include "ops/mat_mul.h"
#include "runtime/core/shape.h"
#include "tests/harness/op_cases.h"

namespace plica {
namespace {

// Beyond the operator's table: what the kernels of 16-bit elements choose by size. Of many rows blocks make 128 columns of one tile each,
// 160 of one tile each, or tile after tile.

using ops::Activation;

class CudaProductsOfManyRows : public testing::TestWithParam<DType> {
 protected:
  void add(const std::string& name, Activation activation, const std::vector<OperandSpec>& in) {
    table_.cases.push_back({name, ops::MatMul{.activation = activation}, in, {GetParam()}});
  }
  void add_sizes(Activation activation, int64_t rows, int64_t depth, int64_t columns) {
    add(std::to_string(rows) + " rows, " + std::to_string(depth) + " x " + std::to_string(columns), activation,
        {{{rows, depth}}, {.shape = {depth, columns}, .constant = true}, {.shape = {columns}, .constant = true}});
  }
  void check() const { expect_kernels_agree(table_); }

 private:
  OpTable table_{.op = "MatMul", .every_kernel = false};
};

TEST_P(CudaProductsOfManyRows, EveryActivation) {
  for (const Activation activation : {Activation::kGelu, Activation::kSilu, Activation::kSigmoid, Activation::kTanh})
    add_sizes(activation, 1000, 24, 1000);
  check();
}

// Fewer and more stages than are held at once; tiles that rows, columns and depth do not fill.
TEST_P(CudaProductsOfManyRows, OneTileABlock) {
  add_sizes(Activation::kGelu, 897, 8, 1032);
  add_sizes(Activation::kGelu, 1024, 456, 1024);
  check();
}

TEST_P(CudaProductsOfManyRows, WideTiles) {
  add_sizes(Activation::kGelu, 1409, 8, 1512);
  add_sizes(Activation::kSilu, 1025, 392, 1928);
  check();
}

TEST_P(CudaProductsOfManyRows, TileAfterTile) {
  add_sizes(Activation::kGelu, 2300, 8, 2600);
  add_sizes(Activation::kSilu, 1800, 392, 1800);
  check();
}

TEST_P(CudaProductsOfManyRows, Operands) {
  const OperandSpec rows{{2, 513, 64}};
  add("batches share b, which is no constant", Activation::kGelu, {rows, {{64, 1000}}, {{1000}}});
  add("no bias", Activation::kSigmoid, {rows, {{64, 1000}}});
  add("the bias is no constant", Activation::kGelu, {rows, {.shape = {64, 1000}, .constant = true}, {{1000}}});
  check();
}

// Here and there NaN or an infinity, at places so far apart that sums have one of them.
TEST_P(CudaProductsOfManyRows, NothingFinite) {
  const auto poisoned = [](OperandSpec spec) {
    constexpr double kSome[] = {NAN, INFINITY, -INFINITY};
    for (int64_t i = 0; i < num_elements(spec.shape); ++i)
      spec.values.push_back(i % 10007 == 5 ? kSome[i / 10007 % 3] : static_cast<double>(i * 7919 % 2001) / 1000 - 1);
    return spec;
  };
  const OperandSpec a{{1000, 72}}, b{{72, 1000}};
  for (const Activation activation : {Activation::kGelu, Activation::kSilu, Activation::kSigmoid, Activation::kTanh}) {
    add("NaN and infinities in a", activation, {poisoned(a), b});
    add("NaN and infinities in b", activation, {a, poisoned(b)});
  }
  check();
}

// What the kernel of few rows by a large matrix chooses by size: tiles that share a multiprocessor, have one each, or share the depth.
class CudaProductsOfFewRows : public CudaProductsOfManyRows {};

TEST_P(CudaProductsOfFewRows, TwoTilesAProcessor) {
  add_sizes(Activation::kGelu, 128, 72, 4232);
  add_sizes(Activation::kSilu, 113, 648, 4296);
  check();
}

TEST_P(CudaProductsOfFewRows, ATileAProcessor) {
  add_sizes(Activation::kSigmoid, 120, 8, 4096);
  add_sizes(Activation::kNone, 112, 72, 1928);
  add_sizes(Activation::kTanh, 127, 1176, 2568);
  check();
}

TEST_P(CudaProductsOfFewRows, SharedDepth) {
  add_sizes(Activation::kNone, 128, 776, 1288);
  add_sizes(Activation::kNone, 117, 1000, 1288);
  add_sizes(Activation::kGelu, 128, 2056, 640);
  check();
}

TEST_P(CudaProductsOfFewRows, Operands) {
  const OperandSpec none{.absent = true};
  for (const int64_t columns : {int64_t{2560}, int64_t{4288}}) {
    const OperandSpec b{.shape = {136, columns}, .constant = true}, bias{{columns}};
    add("a residual", Activation::kGelu, {{{4, 30, 136}}, b, bias, none, {{4, 30, columns}}});
    add("the same residual for all rows", Activation::kSilu, {{{120, 136}}, b, none, none, {{columns}}});
    add("b is no constant", Activation::kTanh, {{{120, 136}}, {{136, columns}}, bias});
  }
  add("a residual of parts of a depth", Activation::kNone,
      {{{2, 60, 1032}}, {.shape = {1032, 640}, .constant = true}, {{640}}, none, {{2, 60, 640}}});
  check();
}

INSTANTIATE_TEST_SUITE_P(Types, CudaProductsOfFewRows, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& type) { return type.param == DType::kF16 ? "f16" : "bf16"; });

INSTANTIATE_TEST_SUITE_P(Types, CudaProductsOfManyRows, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& type) { return type.param == DType::kF16 ? "f16" : "bf16"; });

}  // namespace
}  // namespace plica
