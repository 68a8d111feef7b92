#include <cmath>
#include <limits>

#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

// Keys of zeros: every key that is not masked weighs the same; values are 0, 1, 2, ...
OneOp uniform(int64_t opset, int64_t queries, int64_t keys) {
  OneOp op("Attention", opset);
  op.input<float>({1, 1, queries, 2}, std::vector<float>(static_cast<size_t>(2 * queries), 1));
  op.input<float>({1, 1, keys, 2}, std::vector<float>(static_cast<size_t>(2 * keys), 0));
  op.counted({1, 1, keys, 1});
  return op;
}

TEST(OnnxAttention, MasksByBoolFloatAndPosition) {
  EXPECT_THAT(first(uniform(23, 1, 3)).values, ElementsAre(1));
  EXPECT_THAT(first(uniform(23, 1, 3).constant<uint8_t>({1, 3}, {1, 0, 1})).values, ElementsAre(1));
  EXPECT_THAT(first(uniform(23, 1, 3).constant<uint8_t>({1, 3}, {0, 0, 1})).values, ElementsAre(2));
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(first(uniform(23, 1, 3).constant<float>({1, 3}, {0, 0, none})).values, ElementsAre(0.5));
  EXPECT_THAT(first(uniform(23, 3, 3).attr("is_causal", 1)).values, ElementsAre(0, 0.5, 1));
  EXPECT_THAT(first(uniform(24, 1, 3).absent().absent().absent().constant<int64_t>({1}, {2})).values, ElementsAre(0.5));
}

TEST(OnnxAttention, AFullyMaskedRowIsZero) {
  EXPECT_THAT(first(uniform(23, 1, 2).constant<uint8_t>({1, 2}, {0, 0})).values, ElementsAre(0));
}

// Rows: with a NaN, without a key, usual.
TEST(OnnxAttention, ARowOfNaNStaysNaNWhereAMaskIs) {
  const auto attention = [] {
    OneOp op("Attention", 23);
    op.input<float>({1, 1, 3, 1}, {NAN, 1, 1}).input<float>({1, 1, 2, 1}, {0, 0}).counted({1, 1, 2, 1});
    return op;
  };
  const float none = -std::numeric_limits<float>::infinity();
  for (const float softcap : {0.0f, 2.0f}) {
    EXPECT_THAT(first(attention().constant<uint8_t>({3, 2}, {1, 1, 0, 0, 1, 1}).attr("softcap", softcap)).values,
                ElementsAre(IsNan(), 0, 0.5));
    EXPECT_THAT(first(attention().constant<float>({3, 2}, {0, 0, none, none, 0, 0}).attr("softcap", softcap)).values,
                ElementsAre(IsNan(), 0, 0.5));
  }
}

TEST(OnnxAttention, ACacheComesBeforeTheQueries) {
  OneOp op("Attention", 23, 3);
  op.input<float>({1, 1, 1, 1}, {1}).input<float>({1, 1, 1, 1}, {0}).input<float>({1, 1, 1, 1}, {4}).absent();
  op.input<float>({1, 1, 1, 1}, {0}).input<float>({1, 1, 1, 1}, {2}).attr("is_causal", 1);
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(3));
  EXPECT_THAT(numbers((*outputs)[2]).values, ElementsAre(2, 4));
}

TEST(OnnxAttention, HeadsLieSideBySideOrShareKeys) {
  OneOp op("Attention", 23);
  op.counted({1, 2, 4}, 0).counted({1, 3, 2}, 0).counted({1, 3, 2});
  op.attr("q_num_heads", 2).attr("kv_num_heads", 1);
  const Numbers y = first(op);
  EXPECT_THAT(y.shape, ElementsAre(1, 2, 4));
  EXPECT_THAT(y.values, ElementsAre(2, 3, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(error_of(OneOp("Attention", 23).counted({1, 2, 4}).counted({1, 2, 4}).counted({1, 2, 4})),
              HasSubstr("q_num_heads"));
}

TEST(OnnxAttention, CappedScoresAndScoresAsAnOutput) {
  OneOp op("Attention", 23, 4);
  op.input<float>({1, 1, 1, 1}, {100}).input<float>({1, 1, 2, 1}, {1, -1}).input<float>({1, 1, 2, 1}, {0, 1});
  op.attr("softcap", 2.0f).attr("scale", 1.0f).attr("qk_matmul_output_mode", int64_t{0});
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(DoubleNear(1 / (1 + std::exp(4.0)), 1e-5)));
  EXPECT_THAT(numbers((*outputs)[3]).values, ElementsAre(100, -100));
}

TEST(OnnxAttention, RotaryByHalvesPairsAndPartly) {
  const std::vector<float> zero{0}, one{1};
  // A quarter turn: (x, y) becomes (-y, x).
  const auto turned = [&] {
    OneOp op("RotaryEmbedding", 23);
    op.input<float>({1, 1, 1, 4}, {1, 2, 3, 4});
    op.constant<float>({1, 1, 2}, {0, 0}).constant<float>({1, 1, 2}, {1, 1});
    return op;
  };
  EXPECT_THAT(first(turned()).values, ElementsAre(-3, -4, 1, 2));
  EXPECT_THAT(first(turned().attr("interleaved", 1)).values, ElementsAre(-2, 1, -4, 3));
  OneOp partly("RotaryEmbedding", 23);
  partly.input<float>({1, 1, 3}, {1, 2, 3}).constant<float>({2, 1}, {5, 0}).constant<float>({2, 1}, {5, 1});
  partly.input<int64_t>({1, 1}, {1}).attr("rotary_embedding_dim", 2).attr("num_heads", 1);
  EXPECT_THAT(first(partly).values, ElementsAre(-2, 1, 3));
}

}  // namespace
}  // namespace plica::onnx
