#include "runtime/device/device_name.h"

#include <gtest/gtest.h>

namespace plica {
namespace {

TEST(DeviceName, IsCpuOrCudaWithANumber) {
  for (const char* name : {"cpu", "cuda", "cuda:0", "cuda:12"}) EXPECT_TRUE(check_device_name(name)) << name;
  for (const char* name : {"", "CPU", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0", "cpu:0"})
    EXPECT_FALSE(check_device_name(name)) << name;
  EXPECT_EQ(check_device_name("nosuch").error().what(), "device 'nosuch', wanted cpu or cuda:N");
}

}  // namespace
}  // namespace plica
