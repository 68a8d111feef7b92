#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "ops/constant.h"

namespace plica {
namespace {

Result<ConstantPtr> ones() { return make_constant(*Tensor::zeros(DType::kF32, {8})); }

TEST(ConstantStore, MakesAKeyOnce) {
  ConstantStore store;
  std::atomic<int> num_calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(store.get("a", [&] { return ++num_calls, ones(); })); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_calls, 1);
  EXPECT_EQ(store.num_made(), 1u);
  EXPECT_EQ(store.num_bytes(), 32u);
}

TEST(ConstantStore, MakingMayAskForOtherKeys) {
  ConstantStore store;
  EXPECT_TRUE(store.get("outer", [&] { return store.get("inner", ones); }));
  EXPECT_EQ(store.num_made(), 2u);
}

TEST(ConstantStore, ErrorsAreNotKept) {
  ConstantStore store;
  const auto fail = []() -> Result<ConstantPtr> { return Error(Code::kOutOfMemory, "no"); };
  EXPECT_FALSE(store.get("a", fail));
  EXPECT_EQ(store.num_made(), 0u);
  EXPECT_TRUE(store.get("a", ones));
}

// A constant whose value is made when somebody reads it; counts how often.
ConstantPtr deferred(int& num_calls) {
  const auto make = [&num_calls] { return ++num_calls, ones(); };
  return std::make_shared<const Constant>(Constant{{DType::kF32, {8}, {}}, nullptr, nullptr, "ones", make});
}

TEST(ConstantStore, HoldsNoValueThatIsBorrowed) {
  ConstantStore store;
  int num_calls = 0;
  const ConstantPtr constant = *store.get("ones", [&]() -> Result<ConstantPtr> { return deferred(num_calls); });
  EXPECT_EQ(store.num_bytes(), 0u);
  EXPECT_NE((*store.borrowed(constant))->data, nullptr);
  EXPECT_NE((*store.borrowed(constant))->data, nullptr);
  EXPECT_EQ(num_calls, 2);
  EXPECT_EQ(store.num_bytes(), 0u);
}

TEST(ConstantStore, KeepsOneCopyOfAValueThatIsRead) {
  ConstantStore store;
  int num_calls = 0;
  const ConstantPtr constant = deferred(num_calls), again = deferred(num_calls);
  const ConstantPtr kept = *store.kept(constant);
  EXPECT_EQ(*store.kept(again), kept);
  EXPECT_EQ(*store.borrowed(again), kept);
  EXPECT_EQ(num_calls, 1);
  EXPECT_EQ(store.num_bytes(), 32u);
  EXPECT_EQ(*store.kept(kept), kept);
}

}  // namespace
}  // namespace plica
