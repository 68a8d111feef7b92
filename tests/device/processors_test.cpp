#include "runtime/device/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace plica {
namespace {

TEST(Processors, AtLeastOneAndNoMoreThanTheMachineHas) {
  EXPECT_GE(num_processors(), 1);
  EXPECT_LE(num_processors(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Processors, FollowsTheAffinityMask) {
  std::thread([] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(num_processors(), 1);
  }).join();
}

}  // namespace
}  // namespace plica
