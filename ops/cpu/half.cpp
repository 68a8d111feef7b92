#include "ops/cpu/half.h"

#include "runtime/core/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/half.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using Bits = hn::Rebind<uint16_t, D>;
using Half = hn::Rebind<hwy::float16_t, D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Highway's conversions of single values do not round.
void f16_to_f32(const uint16_t* x, float* y, int64_t n) {
  int64_t i = 0;
  if constexpr (kLanes > 1)
    for (; i + kLanes <= n; i += kLanes)
      hn::StoreU(hn::PromoteTo(D(), hn::BitCast(Half(), hn::LoadU(Bits(), x + i))), D(), y + i);
  for (; i < n; ++i) y[i] = to_float(F16{x[i]});
}

void f32_to_f16(const float* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  if constexpr (kLanes > 1)
    for (; i + kLanes <= n; i += kLanes)
      hn::StoreU(hn::BitCast(Bits(), hn::DemoteTo(Half(), hn::LoadU(D(), x + i))), Bits(), y + i);
  for (; i < n; ++i) y[i] = to_f16(x[i]).bits;
}

// Plain loops, which compilers turn into vectors of this target.
void bf16_to_f32(const uint16_t* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_float(BF16{x[i]});
}

void f32_to_bf16(const float* x, uint16_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bf16(x[i]).bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(f16_to_f32);
HWY_EXPORT(f32_to_f16);
HWY_EXPORT(bf16_to_f32);
HWY_EXPORT(f32_to_bf16);

void widen_f16(const uint16_t* x, float* y, int64_t n) { HWY_DYNAMIC_DISPATCH(f16_to_f32)(x, y, n); }
void widen_bf16(const uint16_t* x, float* y, int64_t n) { HWY_DYNAMIC_DISPATCH(bf16_to_f32)(x, y, n); }
void narrow_f16(const float* x, uint16_t* y, int64_t n) { HWY_DYNAMIC_DISPATCH(f32_to_f16)(x, y, n); }
void narrow_bf16(const float* x, uint16_t* y, int64_t n) { HWY_DYNAMIC_DISPATCH(f32_to_bf16)(x, y, n); }

}  // namespace plica::cpu
#endif  // HWY_ONCE
