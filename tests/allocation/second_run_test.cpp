#include <gtest/gtest.h>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/api/session_state.h"
#include "tests/allocation/counted_malloc.h"
#include "tests/harness/text_source.h"

namespace plica {
namespace {

// A layer of a transformer with every kind of step: gather, norms, products, attention, element-wise chains, copies.
constexpr const char* kLayer = R"(
    input ids: i64 {B}x{L}
    input mask: bool {B}x1x1x{L}
    constant table: f32 32x64
    constant w: f32 64x192
    constant bias: f32 192
    constant out: f32 64x64
    constant up: f32 64x256
    constant down: f32 256x64
    constant gamma: f32 64
    constant beta: f32 64
    x = Gather(table, ids)
    n = LayerNorm(x, gamma, beta)
    qkv = Add(MatMul(n, w, _, _, _), bias)
    split = Reshape(qkv) {shape=[{B},{L},3,4,16]}
    heads = Transpose(split) {perm=[2,0,3,1,4]}
    q0 = Slice(heads) {starts=[0,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    k0 = Slice(heads) {starts=[1,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    v0 = Slice(heads) {starts=[2,0,0,0,0], sizes=[1,{B},4,{L},16], steps=[1,1,1,1,1]}
    q = Reshape(q0) {shape=[{B},4,{L},16]}
    k = Reshape(k0) {shape=[{B},4,{L},16]}
    v = Reshape(v0) {shape=[{B},4,{L},16]}
    a = Attention(q, k, v, _, mask, _, _) {scale=0.25, fill=-10000.0}
    merged = Reshape(Transpose(a) {perm=[0,2,1,3]}) {shape=[{B},{L},64]}
    r = Add(MatMul(merged, out, _, _, _), x)
    h = MatMul(Gelu(MatMul(RmsNorm(r, gamma), up, _, _, _)), down, _, _, _)
    y = Add(h, r)
    p = Softmax(y)
    m = Reduce(y) {kind="mean", axes=[1], keepdims=false}
    c = Concat(p, y) {axis=2}
    output y
    output m
    output c
    t = Transpose(y) {perm=[0,2,1]}
    output t
)";

class SecondRun : public testing::TestWithParam<int> {};

TEST_P(SecondRun, AllocatesNothing) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has taken over malloc";
  auto model = Model::State::make(text_source(kLayer), {.num_threads = GetParam()});
  ASSERT_TRUE(model) << to_string(model.error());
  Session session = *model->session();
  Tensor ids = *Tensor::zeros(DType::kI64, {2, 9}), mask = *Tensor::zeros(DType::kBool, {2, 1, 1, 9});
  Tensor more_ids = *Tensor::zeros(DType::kI64, {2, 9});
  for (int64_t i = 0; i < 18; ++i) mask.as<bool>()[i] = i % 5 != 0;
  const TensorView tokens = ids.view(), other_tokens = more_ids.view(), kept = mask.view();
  const auto run = [&](const TensorView& view) {
    return session.bind(0, view) && session.bind(1, kept) && session.run();
  };
  if (!run(tokens)) FAIL() << to_string(session.run().error());
  const int64_t before = num_allocations();
  const bool same_memory = run(tokens), other_memory = run(other_tokens);
  EXPECT_EQ(num_allocations() - before, 0);
  EXPECT_TRUE(same_memory && other_memory);
}

INSTANTIATE_TEST_SUITE_P(Threads, SecondRun, testing::Values(1, 2));

TEST(CountedMalloc, Counts) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has taken over malloc";
  const int64_t before = num_allocations();
  char* volatile memory = new char[1000];
  delete[] memory;
  EXPECT_EQ(num_allocations() - before, 1);
}

}  // namespace
}  // namespace plica
