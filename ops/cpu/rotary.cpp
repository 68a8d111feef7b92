#include "ops/cpu/rotary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/rotary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void rotate(const RotaryRows& r, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t half = r.width / 2, lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < half; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(half - i));
    for (int64_t row = 0; row < count; ++row) {
      const float *x = r.x + row * r.x_stride + i, *cos = r.cos + row * r.cos_stride + i;
      const float* sin = r.sin + row * r.sin_stride + i;
      float* y = r.y + row * r.y_stride + i;
      const auto low = hn::MaskedLoad(mask, d, x), high = hn::MaskedLoad(mask, d, x + half);
      const auto scaled_low = hn::Mul(low, hn::MaskedLoad(mask, d, cos));
      const auto scaled_high = hn::Mul(high, hn::MaskedLoad(mask, d, cos + half));
      hn::BlendedStore(hn::NegMulAdd(high, hn::MaskedLoad(mask, d, sin), scaled_low), mask, d, y);
      hn::BlendedStore(hn::MulAdd(low, hn::MaskedLoad(mask, d, sin + half), scaled_high), mask, d, y + half);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR  // a vector of one value holds no pair
void turn_pairs(const RotaryRows& r, int64_t count) {
  for (int64_t row = 0; row < count; ++row) {
    const float *x = r.x + row * r.x_stride, *cos = r.cos + row * r.cos_stride, *sin = r.sin + row * r.sin_stride;
    float* y = r.y + row * r.y_stride;
    for (int64_t i = 0; i < r.width; i += 2) {
      const float even = x[i], odd = x[i + 1];
      y[i] = even * cos[i] - odd * sin[i];
      y[i + 1] = odd * cos[i + 1] + even * sin[i + 1];
    }
  }
}
#else
void turn_pairs(const RotaryRows& r, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < r.width; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(r.width - i));
    for (int64_t row = 0; row < count; ++row) {
      const auto x = hn::MaskedLoad(mask, d, r.x + row * r.x_stride + i);
      const auto cos = hn::MaskedLoad(mask, d, r.cos + row * r.cos_stride + i);
      const auto sin = hn::MaskedLoad(mask, d, r.sin + row * r.sin_stride + i);
      const auto signed_sin = hn::OddEven(sin, hn::Neg(sin));
      const auto y = hn::MulAdd(hn::Shuffle2301(x), signed_sin, hn::Mul(x, cos));
      hn::BlendedStore(y, mask, d, r.y + row * r.y_stride + i);
    }
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(rotate);
HWY_EXPORT(turn_pairs);

void rotate_rows(const RotaryRows& rows, int64_t count) { HWY_DYNAMIC_DISPATCH(rotate)(rows, count); }

void rotate_pairs(const RotaryRows& rows, int64_t count) { HWY_DYNAMIC_DISPATCH(turn_pairs)(rows, count); }

}  // namespace plica::cpu
#endif  // HWY_ONCE
