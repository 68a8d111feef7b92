#include "ops/constant.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/harness/evaluated.h"

namespace plica {
namespace {

TEST(Constant, TheKeyFollowsTheContent) {
  EXPECT_EQ(make_constant(i64({2}, {1, 2}))->key, make_constant(i64({2}, {1, 2}))->key);
  EXPECT_NE(make_constant(i64({2}, {1, 2}))->key, make_constant(i64({2}, {1, 3}))->key);
  EXPECT_NE(make_constant(i64({2}, {1, 2}))->key, make_constant(i64({2, 1}, {1, 2}))->key);
  EXPECT_NE(make_constant(f32({4}, {1, 2, 3, 4}))->key, make_constant(f32({4}, {1, 2, 4, 3}))->key);
  EXPECT_NE(make_constant(f32({9}, std::vector<double>(9, 1)))->key,
            make_constant(f32({9}, std::vector<double>(9, 2)))->key);
}

TEST(Constant, KeepsItsTensorAlive) {
  const ConstantPtr constant = make_constant(f32({2}, {3, 4}), "w7");
  EXPECT_EQ(constant->key, "w7");
  EXPECT_EQ(static_cast<const float*>(constant->data)[1], 4);
}

TEST(ConstantStore, MakesEachKeyOnce) {
  ConstantStore store;
  std::atomic<int> made = 0;
  const auto make = [&]() -> Result<ConstantPtr> {
    ++made;
    return make_constant(f32({2}, {1, 2}), "packed");
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_TRUE(store.get("packed", make));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(store.num_made(), 1u);
  EXPECT_EQ(store.num_bytes(), 8u);
}

TEST(ConstantStore, KeepsNothingOfAFailure) {
  ConstantStore store;
  const auto failed = store.get("a", []() -> Result<ConstantPtr> { return Error(Code::kOutOfMemory, "no memory"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kOutOfMemory);
  EXPECT_EQ(store.num_made(), 0u);
  EXPECT_TRUE(store.get("a", []() -> Result<ConstantPtr> { return make_constant(f32({1}, {1})); }));
}

}  // namespace
}  // namespace plica
