#include "ops/mat_mul.h"

#include <gtest/gtest.h>

#include "tests/ops_cpu/kernel_case.h"

namespace plica {
namespace {

using ops::Activation;
using ops::MatMul;

void expect_right(std::vector<std::optional<CaseOperand>> in, MatMul op = {}) {
  in.resize(5);
  expect_kernels_agree({"MatMul", op, in, "packed"});
  if (in[1]->storage.size() == 2) {
    in[1]->constant = true;
    expect_kernels_agree({"MatMul", op, in, "packed"});
  }
}

TEST(MatMulKernels, TakeWeightsAndBatches) {
  expect_right({{{{3, 5, 24}}}, {{{24, 33}}}});
  expect_right({{{{1, 24}}}, {{{24, 1}}}});
  expect_right({{{{2, 257, 40}}}, {{{40, 4}}}});
  expect_right({{{{7, 1, 24}}}, {{{7, 24, 9}}}});  // a row each
  expect_right({{{{4, 3, 9, 17}}}, {{{4, 3, 17, 21}}}});
  expect_right({{{{4, 1, 9, 17}}}, {{{3, 17, 21}}}});  // broadcast both ways
  expect_right({{{{0, 24}}}, {{{24, 33}}}});
  expect_right({{{{5, 0}}}, {{{0, 33}}}});
}

TEST(MatMulKernels, ReadOperandsThroughStrides) {
  expect_right({{{{24, 50}, {1, 0}}}, {{{33, 24}, {1, 0}}}});                        // both transposed
  expect_right({{{{2, 9, 3, 16}, {0, 2, 1, 3}}}, {{{2, 9, 3, 16}, {0, 2, 3, 1}}}});  // heads: q @ k^T
  expect_right({{{{2, 9, 3, 16}, {0, 2, 1, 3}}}, {{{16, 5}}}});                      // rows that do not join
}

TEST(MatMulKernels, ApplyTheEpilogue) {
  const CaseOperand a{{2, 31, 24}}, b{{24, 40}}, bias{{40}}, full{{2, 31, 40}};
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kSigmoid}) {
    expect_right({a, b, bias}, {.alpha = 1, .activation = activation, .gate_sigmoid = false});
    expect_right({a, b, bias, full, full}, {.alpha = 0.5, .activation = activation, .gate_sigmoid = true});
  }
  expect_right({a, b, std::nullopt, CaseOperand{{31, 1}}, CaseOperand{{2, 1, 40}}});
  expect_right({a, b, bias, std::nullopt, full});
}

}  // namespace
}  // namespace plica
