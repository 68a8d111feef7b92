#include "runtime/device/cuda_device.h"

#include <gtest/gtest.h>

namespace plica {
namespace {

std::string refused(const char* text) {
  const auto ordinal = parse_cuda_device(text);
  return ordinal ? "" : ordinal.error().what();
}

TEST(CudaDevice, RefusesOtherNames) {
  EXPECT_EQ(refused("cuda:x"), "device 'cuda:x', wanted cuda or cuda:N");
  EXPECT_EQ(refused("cuda:"), "device 'cuda:', wanted cuda or cuda:N");
  EXPECT_EQ(refused("cuda:-1"), "device 'cuda:-1', wanted cuda or cuda:N");
  EXPECT_EQ(refused("gpu"), "device 'gpu', wanted cuda or cuda:N");
  EXPECT_EQ(refused("cuda:99"),
            "device 'cuda:99': this process can use " + std::to_string(num_cuda_devices()) + " GPUs");
}

TEST(CudaDevice, ReadsTheDevice) {
  if (num_cuda_devices() == 0) GTEST_SKIP() << "there is no GPU";
  EXPECT_EQ(*parse_cuda_device("cuda"), 0);
  EXPECT_EQ(*parse_cuda_device("cuda:0"), 0);
  const auto traits = cuda_traits(0);
  ASSERT_TRUE(traits);
  EXPECT_EQ(traits->device, Device::kCuda);
  EXPECT_GE(traits->compute_capability, 80);
  EXPECT_GE(traits->shared_memory_bytes, size_t{96} << 10);
}

}  // namespace
}  // namespace plica
