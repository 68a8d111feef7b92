#include "ops/cpu/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/rotary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void rotate(const float* x, const float* cos, const float* sin, float* y, int64_t width) {
  const hn::ScalableTag<float> d;
  const int64_t half = width / 2, lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < half; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(half - i));
    const auto low = hn::MaskedLoad(mask, d, x + i), high = hn::MaskedLoad(mask, d, x + half + i);
    const auto new_low =
        hn::NegMulAdd(high, hn::MaskedLoad(mask, d, sin + i), hn::Mul(low, hn::MaskedLoad(mask, d, cos + i)));
    const auto new_high = hn::MulAdd(low, hn::MaskedLoad(mask, d, sin + half + i),
                                     hn::Mul(high, hn::MaskedLoad(mask, d, cos + half + i)));
    hn::BlendedStore(new_low, mask, d, y + i);
    hn::BlendedStore(new_high, mask, d, y + half + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(rotate);

void rotate_row(const float* x, const float* cos, const float* sin, float* y, int64_t width) {
  HWY_DYNAMIC_DISPATCH(rotate)(x, cos, sin, y, width);
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
