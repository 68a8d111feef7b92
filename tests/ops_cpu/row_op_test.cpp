#include <gtest/gtest.h>

#include "ops/copy.h"
#include "ops/layer_norm.h"
#include "ops/outer_product_mean.h"
#include "ops/rms_norm.h"
#include "ops/rotary.h"
#include "ops/softmax.h"
#include "tests/ops_cpu/kernel_case.h"

namespace plica {
namespace {

using In = std::vector<std::optional<CaseOperand>>;

const std::vector<CaseOperand> kRows = {
    {{3, 5, 24}}, {{257, 64}}, {{7}}, {{0, 8}}, {{2, 5, 3, 16}, {0, 2, 1, 3}}, {{1, 1, 1}},
};

TEST(RowKernels, NormaliseRows) {
  for (const CaseOperand& x : kRows) {
    const int64_t channels = x.storage.back();
    const CaseOperand vector{{channels}};
    expect_kernels_agree({"LayerNorm", ops::LayerNorm{}, {x, std::nullopt, std::nullopt}, "row"});
    expect_kernels_agree({"LayerNorm", ops::LayerNorm{.eps = 1e-3}, {x, vector, vector}, "row"});
    expect_kernels_agree({"RmsNorm", ops::RmsNorm{}, {x, vector}, "row"});
    expect_kernels_agree({"Softmax", ops::Softmax{}, {x, std::nullopt, std::nullopt}, "row"});
    expect_kernels_agree({"Softmax", ops::Softmax{.log = true}, {x, std::nullopt, std::nullopt}, "row"});
    expect_kernels_agree({"Softmax", ops::Softmax{}, {x, vector, vector}, "masked_row"});
  }
}

TEST(RowKernels, RotateRows) {
  const CaseOperand table{{33, 24}}, heads{{2, 33, 3, 24}, {0, 2, 1, 3}};
  expect_kernels_agree({"Rotary", ops::Rotary{}, {heads, table, table}, "row"});
  expect_kernels_agree({"Rotary", ops::Rotary{}, {{{{5, 2}}}, {{{5, 2}}}, {{{1, 2}}}}, "row"});
}

TEST(CopyKernels, TakeAnyStrides) {
  for (DType dtype : {DType::kF32, DType::kI64, DType::kBool, DType::kF16}) {
    expect_kernels_agree({"Copy", ops::Copy{}, {{{{2, 33, 3, 24}, {0, 2, 1, 3}, dtype, false, 0, 1}}}, "blocks", 0});
    expect_kernels_agree({"Copy", ops::Copy{}, {{{{70, 33}, {1, 0}, dtype, false, 0, 1}}}, "blocks", 0});
    expect_kernels_agree({"Copy", ops::Copy{}, {{{{}, {}, dtype, false, 0, 1}}}, "blocks", 0});
  }
}

TEST(OuterProductMeanKernels, TakeOddSizes) {
  struct Sizes {
    int64_t batch, depth, n, m, left, right, channels;
  };
  for (const Sizes& s : {Sizes{2, 8, 32, 32, 32, 32, 64}, Sizes{1, 5, 7, 9, 3, 5, 11}, Sizes{1, 1, 1, 1, 1, 1, 1},
                         Sizes{2, 3, 4, 70, 24, 32, 17}, Sizes{1, 0, 3, 4, 2, 2, 4}}) {
    const CaseOperand a{{s.batch, s.depth, s.n, s.left}}, b{{s.batch, s.depth, s.m, s.right}}, bias{{s.channels}};
    CaseOperand weight{{s.left * s.right, s.channels}}, norm{{s.batch, s.n, s.m, 1}};
    const CaseOperand residual{{s.batch, s.n, s.m, s.channels}};
    norm.lowest = 1, norm.highest = 3;
    const ops::OuterProductMean op{.scale = 0.5};
    expect_kernels_agree({"OuterProductMean", op, {a, b, weight, bias, norm, residual}, "tiled"});
    weight.constant = true;
    expect_kernels_agree({"OuterProductMean", op, {a, b, weight, std::nullopt, std::nullopt, std::nullopt}, "tiled"});
  }
}

}  // namespace
}  // namespace plica
