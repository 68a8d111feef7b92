#include "runtime/device/cuda_arena.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_memory.h"

namespace plica {
namespace {

using testing::HasSubstr;

class CudaArenaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (num_cuda_devices() == 0) GTEST_SKIP() << "there is no GPU";
  }
};

TEST_F(CudaArenaTest, GrowsWithoutMoving) {
  CudaArena arena(0);
  ASSERT_TRUE(arena.grow(1));
  std::byte* base = arena.base();
  const std::array<int, 2> wanted{41, 42};
  ASSERT_EQ(cudaMemcpy(base, wanted.data(), sizeof wanted, cudaMemcpyDefault), cudaSuccess);
  ASSERT_TRUE(arena.grow(size_t{300} << 20));
  EXPECT_EQ(arena.base(), base);
  EXPECT_GE(arena.num_bytes(), size_t{300} << 20);
  std::array<int, 2> found{};
  ASSERT_EQ(cudaMemcpy(found.data(), base, sizeof found, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(cudaMemset(base, 0, size_t{300} << 20), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const size_t had = arena.num_bytes();
  ASSERT_TRUE(arena.grow(5));
  EXPECT_EQ(arena.num_bytes(), had);
}

TEST_F(CudaArenaTest, SurvivesMoreThanTheDeviceHas) {
  CudaArena arena(0);
  ASSERT_TRUE(arena.grow(size_t{1} << 20));
  const auto info = device_memory_info();
  ASSERT_TRUE(info);
  for (const size_t bytes : {info->total_bytes, 100 * info->total_bytes}) {
    const Status status = arena.grow(bytes);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), Code::kOutOfMemory);
    EXPECT_THAT(status.error().what(), HasSubstr("needs " + std::to_string(bytes) + " bytes of device cuda:0"));
  }
  EXPECT_TRUE(arena.grow(size_t{8} << 20));
  EXPECT_EQ(cudaMemset(arena.base(), 0, size_t{8} << 20), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(CudaArenaTest, GivesItsMemoryBack) {
  const auto before = device_memory_info();
  ASSERT_TRUE(before);
  {
    CudaArena arena(0);
    ASSERT_TRUE(arena.grow(size_t{1} << 30));
    CudaArena moved = std::move(arena);
    EXPECT_EQ(arena.base(), nullptr);
    EXPECT_GE(moved.num_bytes(), size_t{1} << 30);
  }
  const auto after = device_memory_info();
  ASSERT_TRUE(after);
  EXPECT_LT(before->free_bytes - std::min(before->free_bytes, after->free_bytes), size_t{64} << 20);
}

TEST_F(CudaArenaTest, MemoryBeyondTheDeviceIsAnError) {
  const auto memory = device_memory(size_t{1} << 46);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code(), Code::kOutOfMemory);
  EXPECT_THAT(memory.error().what(), HasSubstr("wanted " + std::to_string(size_t{1} << 46)));
}

}  // namespace
}  // namespace plica
