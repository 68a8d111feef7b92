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

}  // namespace
}  // namespace plica
