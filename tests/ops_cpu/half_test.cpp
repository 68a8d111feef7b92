#include "ops/cpu/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/core/dtype.h"
#include "tests/ops_cpu/memory.h"
#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

TEST(Half, WidensEveryValue) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> y(bits.size());
  on_every_target([&] {
    widen_f16(bits.data(), y.data(), 65536);
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_TRUE(same(y[i], to_float(F16{bits[i]}))) << i;
    widen_bf16(bits.data(), y.data(), 65536);
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_TRUE(same(y[i], to_float(BF16{bits[i]}))) << i;
  });
}

TEST(Half, NarrowsToTheNearest) {
  std::vector<float> x = random_values(1003, 1);
  const float special[] = {0.0f, -0.0f, 65504.0f, 65520.0f, 1e-8f, 6e-8f, 1e30f, -INFINITY, NAN, 2049.0f, 2051.0f};
  x.insert(x.end(), std::begin(special), std::end(special));
  for (uint32_t i = 0; i < 4000; ++i) x.push_back(std::bit_cast<float>(i * 1073741u));
  std::vector<uint16_t> y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  on_every_target([&] {
    narrow_f16(x.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same(to_float(F16{y[i]}), to_float(to_f16(x[i])))) << x[i];
    narrow_bf16(x.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same(to_float(BF16{y[i]}), to_float(to_bf16(x[i])))) << x[i];
  });
}

}  // namespace
}  // namespace plica::cpu
