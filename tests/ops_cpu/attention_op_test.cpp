#include <gtest/gtest.h>

#include <limits>

#include "ops/attention.h"
#include "tests/ops_cpu/kernel_case.h"

namespace plica {
namespace {

using ops::Attention;
using In = std::vector<std::optional<CaseOperand>>;

void expect_right(In in, Attention op = {.scale = 0.25, .fill = -1e9}) {
  in.resize(7);
  expect_kernels_agree({"Attention", op, in, "flash"});
}

// (B, L, H, D) in memory, seen as (B, H, L, D).
CaseOperand heads(int64_t b, int64_t l, int64_t h, int64_t d) { return {{b, l, h, d}, {0, 2, 1, 3}}; }

TEST(AttentionKernels, TakePlainHeads) {
  expect_right({heads(2, 33, 3, 24), heads(2, 70, 3, 24), heads(2, 70, 3, 8)});
  expect_right({heads(1, 257, 2, 16), heads(1, 257, 2, 16), heads(1, 257, 2, 16)});
  expect_right({{{{5, 4}}}, {{{6, 4}}}, {{{6, 3}}}});
  expect_right({heads(2, 0, 3, 4), heads(2, 7, 3, 4), heads(2, 7, 3, 4)});
  expect_right({heads(2, 5, 3, 4), heads(2, 0, 3, 4), heads(2, 0, 3, 4)});
  expect_right({heads(2, 9, 4, 8), heads(1, 9, 1, 8), heads(2, 9, 1, 8)});  // keys shared by the heads
}

TEST(AttentionKernels, AddBiasSharedOverRows) {
  // MSA rows: (B, S, H, N, D) with a bias (B, 1, H, N, N), dense or as a projection leaves it (B, N, N, H), and a mask of keys.
  const CaseOperand qkv{{2, 3, 33, 2, 8}, {0, 1, 3, 2, 4}}, gate = qkv;
  const CaseOperand dense{{2, 1, 2, 33, 33}}, projected{{2, 1, 33, 33, 2}, {0, 1, 4, 2, 3}};
  const CaseOperand mask{{2, 3, 1, 1, 33}, {}, DType::kBool, false, 0, 0.7f};
  expect_right({qkv, qkv, qkv, dense});
  expect_right({qkv, qkv, qkv, projected, mask, gate});
  expect_right({qkv, qkv, qkv, projected, mask}, {.scale = 1, .fill = -std::numeric_limits<double>::infinity()});
  expect_right({qkv, qkv, qkv, std::nullopt, CaseOperand{{2, 3, 1, 1, 33}}, gate});
  expect_right({qkv, qkv, qkv, std::nullopt, CaseOperand{{33, 33}}});
}

TEST(AttentionKernels, HideLaterKeysAndMaskedRows) {
  const CaseOperand qkv = heads(2, 60, 2, 8);
  expect_right({qkv, qkv, qkv}, {.causal = true});
  const CaseOperand none{{2, 1, 1, 60}, {}, DType::kBool, false, 0, -1};
  for (const ops::ZeroRows rows : {ops::ZeroRows::kNone, ops::ZeroRows::kMasked, ops::ZeroRows::kUndefined})
    expect_right({qkv, qkv, qkv, std::nullopt, none},
                 {.scale = 1, .fill = -std::numeric_limits<double>::infinity(), .zero_rows = rows});
  expect_right({qkv, qkv, qkv, std::nullopt, none}, {.scale = 1, .fill = -1e4});
}

}  // namespace
}  // namespace plica
