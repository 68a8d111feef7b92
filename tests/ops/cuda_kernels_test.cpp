#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <utility>

#include "ops/layer_norm.h"
#include "ops/map.h"
#include "ops/mat_mul.h"
#include "ops/outer_product_mean.h"
#include "ops/reduce.h"
#include "ops/rms_norm.h"
#include "ops/softmax.h"
#include "runtime/core/shape.h"
#include "tests/harness/op_cases.h"

namespace plica {
namespace {

// Beyond the tables of the operators: what the CUDA kernels choose by size, one case a choice.

const std::vector<DType> kHeldInRegisters = {DType::kF32, DType::kF16, DType::kBF16};

// Every number of lanes and steps of a tile, in whole 16-byte vectors and in single elements.
constexpr int64_t kWidths[] = {32, 64, 128, 256, 512, 768, 1280, 2560, 5120, 7,
                               13, 31, 61,  127, 191, 257, 601,  1279, 1283, 12301};

TEST(CudaKernels, RowsOfEveryTile) {
  OpTable layer_norm{.op = "LayerNorm", .every_kernel = false}, rms_norm{.op = "RmsNorm", .every_kernel = false},
      softmax{.op = "Softmax", .every_kernel = false};
  for (const int64_t width : kWidths) {
    const std::string name = "width " + std::to_string(width);
    layer_norm.cases.push_back({name, ops::LayerNorm{}, {{{19, width}}, {{width}}, {{width}}}, kHeldInRegisters});
    rms_norm.cases.push_back({name, ops::RmsNorm{}, {{{19, width}}, {{width}}}, kHeldInRegisters});
    softmax.cases.push_back({name, ops::Softmax{}, {{{19, width}}}, kHeldInRegisters});
  }
  softmax.cases.push_back({"log", ops::Softmax{.log = true}, {{{5, 768}}}, kHeldInRegisters});
  softmax.cases.push_back({"masked", ops::Softmax{}, {{.shape = {40, 64}, .fill = Fill::kMask}}});
  expect_kernels_agree(layer_norm);
  expect_kernels_agree(rms_norm);
  expect_kernels_agree(softmax);
}

// An expression of operands of `dtype` that is computed in f32, as a plan of 16 bits has it.
std::string in_f32(std::string_view text, int num_inputs, int mask, DType dtype) {
  std::string wide(text);
  if (dtype == DType::kF32) return wide;
  for (int n = 0; n < num_inputs; ++n) {
    const std::string name = "x" + std::to_string(n);
    if (n != mask) wide.replace(wide.find(name), name.size(), "Cast:f32(" + name + ")");
  }
  return "Cast:" + std::string(to_string(dtype)) + "(" + wide + ")";
}

void expect_compiled_expressions_agree(DType dtype) {
  struct Hot {
    std::string_view text;
    int mask;
  };
  constexpr Hot kHot[] = {
#define PLICA_HOT(name, text, inputs, value) {text, -1},
#define PLICA_HOT_MASKED(name, text, inputs, value, mask) {text, mask},
#include "ops/cuda/hot_expressions.inc"
#undef PLICA_HOT
#undef PLICA_HOT_MASKED
  };
  OpTable table{.op = "Map", .judged_in_f64 = false, .every_kernel = false};
  for (const auto& [text, mask] : kHot) {
    ops::Program program = *ops::Program::from_text(text);
    const bool is_in_f32 = !program.immediates.empty();  // numbers are not rounded
    if (is_in_f32) program = *ops::Program::from_text(in_f32(text, program.num_inputs, mask, dtype));
    for (ops::Instruction& instruction : program.instructions)
      if (!is_in_f32) instruction.dtype = dtype;
    const OperandSpec rows{{9, 64}}, bias{{64}}, odd{{9, 7}}, column{{9, 1}};
    for (std::vector<OperandSpec> in : {std::vector{rows, bias, rows}, {rows, rows, rows}, {odd, column, odd}}) {
      in.resize(static_cast<size_t>(program.num_inputs));
      for (OperandSpec& x : in) x.dtype = dtype;
      if (mask >= 0) in[static_cast<size_t>(mask)].dtype = DType::kBool;
      table.cases.push_back({std::string(text), ops::Map{program}, in, {dtype}});
    }
  }
  expect_kernels_agree(table);
}

TEST(CudaKernels, CompiledExpressionsInF32) { expect_compiled_expressions_agree(DType::kF32); }
TEST(CudaKernels, CompiledExpressionsInF16) { expect_compiled_expressions_agree(DType::kF16); }
TEST(CudaKernels, CompiledExpressionsInBf16) { expect_compiled_expressions_agree(DType::kBF16); }

TEST(CudaKernels, ReductionsOfEveryCut) {
  using ops::ReduceKind;
  OpTable table{.op = "Reduce", .every_kernel = false};
  const std::vector<DType> dtypes = {DType::kF32, DType::kF64, DType::kBF16, DType::kI32};
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin}) {
    table.cases.push_back({"rows", ops::Reduce{kind, {1}, true}, {{{50, 256}}}, dtypes});
    table.cases.push_back({"odd rows", ops::Reduce{kind, {1}, false}, {{{50, 251}}}, dtypes});
    table.cases.push_back({"long rows", ops::Reduce{kind, {1}, false}, {{{3, 20000}}}, dtypes});
    table.cases.push_back({"all", ops::Reduce{kind, {0}, false}, {{{100003}}}, dtypes});
    table.cases.push_back({"columns", ops::Reduce{kind, {0}, false}, {{{9000, 70}}}, dtypes});
    table.cases.push_back({"middle", ops::Reduce{kind, {0, 2}, true}, {{{9, 33, 40}}}, dtypes});
  }
  expect_kernels_agree(table);
}

TEST(CudaKernels, ProductsOfEveryPrecision) {
  using ops::Activation;
  constexpr double kTf32 = 300;  // times the tolerance of f32
  OpTable table{.op = "MatMul", .every_kernel = false};
  const OperandSpec none{.absent = true};
  const std::vector<OperandSpec> plain = {{{192, 96}}, {{96, 136}}};
  const std::vector<OperandSpec> full = {{{2, 60, 96}}, {{96, 136}}, {{136}}, {{2, 60, 136}}, {{2, 60, 136}}};
  const std::vector<OperandSpec> residual = {{{2, 60, 96}}, {{96, 136}}, {{136}}, none, {{2, 60, 136}}};
  const std::vector<OperandSpec> heads = {{{2, 4, 33, 64}, Layout::kHeads}, {{2, 4, 64, 40}, Layout::kTransposed}};
  const std::vector<OperandSpec> columns = {{{130, 64}, Layout::kTransposed}, {{64, 72}, Layout::kTransposed}, {{72}}};
  for (const auto& [precision, tolerance] : {std::pair{Precision::kTf32, kTf32}, std::pair{Precision::kTf32x3, 1.0}}) {
    const auto add = [&](const char* name, ops::MatMul op, const std::vector<OperandSpec>& in) {
      table.cases.push_back({name, op, in, {DType::kF32}, tolerance, precision});
    };
    add("plain", {}, plain);
    add("whole epilogue", {.activation = Activation::kGelu, .gate_sigmoid = true}, full);
    add("residual", {.alpha = 0.5}, residual);
    add("heads", {}, heads);
    add("columns", {.activation = Activation::kRelu}, columns);
  }
  expect_kernels_agree(table);
}

// Both matrices in rows and in columns, of sizes that fill no tile, with batches, one matrix for all of them, and an epilogue.
TEST(CudaKernels, SplitProducts) {
  using ops::Activation;
  OpTable table{.op = "MatMul", .every_kernel = false};
  const auto add = [&](const char* name, ops::MatMul op, std::vector<OperandSpec> in) {
    table.cases.push_back({name, op, std::move(in), {DType::kF32}, 4, Precision::kTf32x3});
  };
  const Layout columns = Layout::kTransposed;
  add("rows by columns", {}, {{{66, 100, 132}}, {{66, 132, 124}, columns}});
  add("rows by rows", {.alpha = 0.5}, {{{66, 124, 132}}, {{66, 132, 100}}});
  add("columns by columns", {}, {{{66, 100, 140}, columns}, {{66, 140, 92}, columns}});
  add("columns by rows", {}, {{{33, 132, 264}, columns}, {{33, 264, 124}}});
  add("one matrix for all", {}, {{{8500, 136}}, {{136, 72}}});
  add("whole epilogue", {.activation = Activation::kGelu, .gate_sigmoid = true},
      {{{2, 2130, 136}}, {{136, 228}}, {{228}}, {{2, 2130, 228}}, {{2, 2130, 228}}});
  expect_kernels_agree(table);
}

// Here and there NaN, an infinity or the least number, at places so far apart that sums have one of them.
TEST(CudaKernels, SplitProductsOfNothingFinite) {
  OpTable table{.op = "MatMul", .every_kernel = false};
  const auto poisoned = [](OperandSpec spec) {
    constexpr double kSome[] = {NAN, INFINITY, -INFINITY, -FLT_MAX};
    for (int64_t i = 0; i < num_elements(spec.shape); ++i)
      spec.values.push_back(i % 10007 == 5 ? kSome[i / 10007 % 4] : static_cast<double>(i * 7919 % 2001) / 1000 - 1);
    return spec;
  };
  const auto add = [&](const char* name, const OperandSpec& a, const OperandSpec& b) {
    for (const auto& in : {std::vector{poisoned(a), b}, {a, poisoned(b)}})
      table.cases.push_back({name, ops::MatMul{}, in, {DType::kF32}, 4, Precision::kTf32x3});
  };
  const Layout columns = Layout::kTransposed;
  add("rows by columns", {{66, 100, 132}}, {{66, 132, 124}, columns});
  add("columns by rows", {{33, 132, 264}, columns}, {{33, 264, 124}});
  expect_kernels_agree(table);
}

// Tiles of both heights by one, two and four blocks, some with more stages than are held at once.
void expect_products_of_few_rows_agree(DType dtype) {
  const ops::MatMul plain, gelu{.alpha = 0.5, .activation = ops::Activation::kGelu};
  const OperandSpec none{.absent = true};
  OpTable table{.op = "MatMul", .every_kernel = false};
  const auto add = [&](ops::MatMul op, int64_t rows, int64_t depth, int64_t columns) {
    table.cases.push_back({std::to_string(rows) + " rows, " + std::to_string(depth) + " x " + std::to_string(columns),
                           op,
                           {{{rows, depth}},
                            {.shape = {depth, columns}, .constant = true},
                            {.shape = {columns}, .constant = true},
                            none,
                            {{rows, columns}}},
                           {dtype}});
  };
  for (const auto& [depth, columns] : {std::pair{56, 2632}, {128, 72}, {328, 320}, {1288, 136}}) {
    add(plain, 1, depth, columns);
    add(gelu, 128, depth, columns);
  }
  for (const auto& [depth, columns] : {std::pair{328, 2632}, {1280, 808}}) add(gelu, 67, depth, columns);
  table.cases.push_back({"b is no constant", gelu, {{{57, 64}}, {{64, 128}}, {{128}}}, {dtype}});
  expect_kernels_agree(table);
}

TEST(CudaKernels, ProductsOfFewRowsInF16) { expect_products_of_few_rows_agree(DType::kF16); }
TEST(CudaKernels, ProductsOfFewRowsInBf16) { expect_products_of_few_rows_agree(DType::kBF16); }

// What a kernel of outer products multiplies, and how far it may be from the reference.
struct Mode {
  DType dtype;
  Precision precision;
  double tolerance;
};

void expect_outer_products_agree(const Mode& mode) {
  OpTable table{.op = "OuterProductMean", .every_kernel = false};
  const OperandSpec none{.absent = true};
  const auto norm = [](Shape shape) { return OperandSpec{.shape = std::move(shape), .fill = Fill::kPositive}; };
  const auto add = [&](const char* name, double scale, std::vector<OperandSpec> in) {
    table.cases.push_back(
        {name, ops::OuterProductMean{scale}, std::move(in), {mode.dtype}, mode.tolerance, mode.precision});
  };
  add("small model", 0.1, {{{2, 8, 32, 32}}, {{2, 8, 32, 32}}, {{1024, 64}}, {{64}}, norm({2, 32, 32, 1})});
  add("small, positions first", 0.1,
      {{{1, 16, 20, 32}, Layout::kHeads}, {{1, 16, 24, 32}, Layout::kHeads}, {{1024, 64}}, {{64}}});
  add("many rows", 0.03,
      {{{1, 37, 70, 32}}, {{1, 37, 23, 32}}, {{1024, 128}}, {{128}}, norm({1, 70, 23, 1}), {{1, 70, 23, 128}}});
  add("odd channels", 0.03, {{{1, 129, 9, 20}}, {{1, 129, 13, 24}}, {{480, 72}}, none, norm({1})});
  add("long, two tiles of channels", 0.01, {{{1, 700, 5, 8}}, {{1, 700, 6, 16}}, {{128, 132}}});
  add("halves of one projection", 0.1,
      {{{1, 16, 34, 32}, Layout::kGapped}, {{1, 16, 34, 32}, Layout::kHeads}, {{1024, 64}, Layout::kTransposed}});
  expect_kernels_agree(table);
}

TEST(CudaKernels, OuterProductsInF32) { expect_outer_products_agree({DType::kF32, Precision::kF32, 1}); }
TEST(CudaKernels, OuterProductsInTf32) { expect_outer_products_agree({DType::kF32, Precision::kTf32, 300}); }
TEST(CudaKernels, OuterProductsInTf32x3) { expect_outer_products_agree({DType::kF32, Precision::kTf32x3, 4}); }
TEST(CudaKernels, OuterProductsInBf16) { expect_outer_products_agree({DType::kBF16, Precision::kBf16, 2}); }
TEST(CudaKernels, OuterProductsInF16) { expect_outer_products_agree({DType::kF16, Precision::kF16, 2}); }

}  // namespace
}  // namespace plica
