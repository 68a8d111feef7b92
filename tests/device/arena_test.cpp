#include "runtime/device/arena.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace plica {
namespace {

using testing::HasSubstr;

TEST(Arena, GrowsWithoutMoving) {
  Arena arena;
  ASSERT_TRUE(arena.grow(100));
  std::byte* base = arena.base();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % 64, 0u);
  std::memset(base, 1, 100);
  ASSERT_TRUE(arena.grow(size_t{64} << 20));
  EXPECT_EQ(arena.base(), base);
  EXPECT_EQ(base[99], std::byte{1});
  base[(size_t{64} << 20) - 1] = std::byte{2};
  ASSERT_TRUE(arena.grow(1));
  EXPECT_GE(arena.num_bytes(), size_t{64} << 20);
}

TEST(Arena, MovesAsAnObject) {
  Arena arena;
  ASSERT_TRUE(arena.grow(100));
  std::byte* base = arena.base();
  Arena other(std::move(arena));
  EXPECT_EQ(other.base(), base);
  EXPECT_EQ(arena.base(), nullptr);
  arena = std::move(other);
  EXPECT_EQ(arena.base(), base);
}

TEST(Arena, MoreThanTheMachineHasIsAnError) {
  Arena arena;
  ASSERT_TRUE(arena.grow(100));
  const Status status = arena.grow(SIZE_MAX / 2);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kOutOfMemory);
  EXPECT_THAT(status.error().what(),
              HasSubstr("the arena needs 9223372036854775807 bytes; the system gives no more than"));
  EXPECT_NE(arena.base(), nullptr);
}

// The system would give so many addresses, and kill the process that uses them.
TEST(Arena, LittleMoreThanTheMemoryIsAnErrorToo) {
  const size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Arena arena;
  const Status status = arena.grow(memory + 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kOutOfMemory);
  EXPECT_EQ(arena.base(), nullptr);
}

// In a child, so that the limit binds nothing else.
[[noreturn]] void grow_with_few_addresses() {
  const rlimit limit{size_t{1} << 30, size_t{1} << 30};
  setrlimit(RLIMIT_AS, &limit);
  Arena arena;
  const bool small = static_cast<bool>(arena.grow(size_t{16} << 20));
  const bool large = static_cast<bool>(arena.grow(size_t{2} << 30));
  std::_Exit(small && !large ? 0 : 1);
}

TEST(ArenaDeathTest, LivesWithFewAddresses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need addresses without limit";
#endif
  EXPECT_EXIT(grow_with_few_addresses(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace plica
