// Long because the functions share their ranges and constants and are read side by side.
// Functions of f32 vectors, within 2 ulp unless said. Included once a Highway target, so without #pragma once.
#if defined(PLICA_OPS_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLICA_OPS_CPU_VECTOR_MATH_INL_H_
#undef PLICA_OPS_CPU_VECTOR_MATH_INL_H_
#else
#define PLICA_OPS_CPU_VECTOR_MATH_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using IntsOf = hn::RebindToSigned<D>;

// c0 + c1 x + c2 x^2 ... by Horner's rule.
template <class D, class V>
HWY_INLINE V polynomial(D d, V, float c) {
  return hn::Set(d, c);
}
template <class D, class V, class... C>
HWY_INLINE V polynomial(D d, V x, float c0, C... more) {
  return hn::MulAdd(polynomial(d, x, more...), x, hn::Set(d, c0));
}

// Adding it rounds a number below 2^22 to an integer, which then stands in the low bits.
inline constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23

// 2^n of integers n in [-126, 127].
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(IntsOf<D>(), 127))));
}

// 2^r for |r| <= 1/2, relative error 1e-7.
template <class D, class V>
HWY_INLINE V exp2_fraction(D d, V r) {
  return polynomial(d, r, 1.0f, 0.69314724f, 0.24022235f, 0.055503085f, 0.009671875f, 0.0013407256f);
}

// 2^(x * factor) for x <= 0 or NaN and factor > 0; 0 where the product is below -126. The fast exponential of softmax
// rows: the factor's own rounding adds 2e-8 |x| to the relative error.
template <class D, class V>
HWY_INLINE V exp2_nonpositive(D d, V x, float factor) {
  const IntsOf<D> di;
  const V f = hn::Set(d, factor), shift = hn::Set(d, kRoundingShift);
  const V t = hn::MulAdd(x, f, shift);
  const V r = hn::MulSub(x, f, hn::Sub(t, shift));
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, t), hn::Set(di, 127))));
  const V y = hn::Mul(exp2_fraction(d, r), scale);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -126.0f / factor)), y);
}

inline constexpr float kLog2E = 1.44269504f;

// e^x for x <= 0 or NaN, 0 below -87.3.
template <class D, class V>
HWY_INLINE V exp_nonpositive(D d, V x) {
  return exp2_nonpositive(d, x, kLog2E);
}

// e^x for every x.
template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  const IntsOf<D> di;
  const V shift = hn::Set(d, kRoundingShift);
  const V bounded = hn::Max(hn::Set(d, -104.0f), hn::Min(hn::Set(d, 89.0f), x));
  const V t = hn::MulAdd(bounded, hn::Set(d, kLog2E), shift);
  const V n = hn::Sub(t, shift);
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.62e4p-1f), bounded);  // its product with n is exact
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.7f7d1cp-20f), r);
  const V p = polynomial(d, r, 0.5f, 0.16666515f, 0.0416662f, 0.00836924f, 0.0013951096f);
  const V y = hn::Add(hn::Set(d, 1.0f), hn::MulAdd(hn::Mul(r, r), p, r));
  const auto i = hn::Sub(hn::BitCast(di, t), hn::BitCast(di, shift));
  const auto half = hn::ShiftRight<1>(i);  // 2^i alone would leave the range of f32 at both of its ends
  const V scaled = hn::Mul(hn::Mul(y, power_of_two(d, half)), power_of_two(d, hn::Sub(i, half)));
  return hn::IfThenElse(hn::Eq(x, x), scaled, x);
}

template <class D, class V>
HWY_INLINE V log(D d, V x) {
  const IntsOf<D> di;
  const auto tiny = hn::Lt(x, hn::Set(d, 0x1p-126f));
  const V normal = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p24f)), x);
  // m in [sqrt(1/2), sqrt(2)): the exponent is counted from the bits of sqrt(1/2)
  const auto base = hn::Set(di, 0x3f3504f3);
  const auto offset = hn::Sub(hn::BitCast(di, normal), base);
  const auto exponent = hn::ShiftRight<23>(offset);
  const V m = hn::BitCast(d, hn::Add(hn::And(offset, hn::Set(di, 0x007fffff)), base));
  const V e = hn::Sub(hn::ConvertTo(d, exponent), hn::IfThenElseZero(tiny, hn::Set(d, 24.0f)));
  const V f = hn::Sub(m, hn::Set(d, 1.0f));
  const V p = polynomial(d, f, 0.33333313f, -0.2500001f, 0.20002119f, -0.16667996f, 0.14219551f, -0.124055915f,
                         0.11888175f, -0.11675641f, 0.06746601f);
  const V ff = hn::Mul(f, f);
  V y = hn::MulAdd(hn::Mul(ff, f), p, hn::Mul(e, hn::Set(d, -0x1.05c610p-29f)));
  y = hn::Add(hn::NegMulAdd(ff, hn::Set(d, 0.5f), y), f);
  y = hn::MulAdd(e, hn::Set(d, 0x1.62e43p-1f), y);
  const V infinity = hn::Set(d, HUGE_VALF);
  y = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), y, hn::Set(d, NAN));
}

template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  const V a = hn::Abs(x), s = hn::Mul(x, x);
  const V near = hn::MulAdd(polynomial(d, s, 0.12837917f, -0.37612626f, 0.112836f, -0.026854444f, 0.005189535f,
                                       -0.0008020841f, 7.889119e-05f),
                            x, x);
  const V t = hn::Min(a, hn::Set(d, 4.0f));  // erf(4) rounds to 1
  const V q =
      polynomial(d, t, 0.00035370892f, 1.12704f, 0.6382256f, 0.10303744f, -0.021805352f, 0.0029396159f, -0.0001855749f);
  const V far = hn::Sub(hn::Set(d, 1.0f), exp_nonpositive(d, hn::Neg(q)));
  const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, 1.0f)), near, hn::CopySign(far, x));
  return hn::IfThenElse(hn::Eq(x, x), y, x);
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  const V a = hn::Abs(x), s = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  const V p = polynomial(d, s, -0.33333284f, 0.13331491f, -0.053743497f, 0.020650579f, -0.0057170363f);
  const V near = hn::MulAdd(hn::Mul(s, x), p, x);
  const V e = exp_nonpositive(d, hn::Mul(a, hn::Set(d, -2.0f)));
  const V far = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), near, far);
}

// x/2 (1 + erf(x / sqrt 2)), absolute error 1e-7 (1 + |x|). Built on log2 of erfc, so the lower tail does not cancel.
template <class D, class V>
HWY_INLINE V gelu(D d, V x) {
  const V t = hn::Min(hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678f)), hn::Set(d, 10.0f));
  const V q = polynomial(d, t, 1.6279086f, 0.9184164f, 0.14848162f, -0.028253688f, 0.0007746356f, 0.0014894385f,
                         -0.00044550683f, 4.5358523e-05f);
  const V half_tail = hn::Mul(hn::Set(d, 0.5f), exp2_nonpositive(d, hn::Neg(hn::Mul(t, q)), 1.0f));
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), half_tail, hn::Sub(hn::Set(d, 1.0f), half_tail)));
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
template <class D, class V>
HWY_INLINE V gelu_tanh(D d, V x) {
  const V u = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, 1.59576912f * 0.044715f), hn::Set(d, 1.59576912f)));
  return hn::Mul(x, sigmoid(d, u));
}

template <class D, class V>
HWY_INLINE V silu(D d, V x) {
  return hn::Mul(x, sigmoid(d, x));
}

template <class D, class V>
HWY_INLINE V rsqrt(D d, V x) {
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
}

// sin(x) for quarter 0, cos(x) for quarter 1. The range is reduced by pi/2 in three parts, exact with fused products to
// 1e6; lanes beyond are computed one by one.
template <class D, class V>
HWY_INLINE V sin_of_quarter(D d, V x, int quarter) {
  const IntsOf<D> di;
  constexpr float kLimit = HWY_NATIVE_FMA ? 1e6f : 0.0f;
  const V shift = hn::Set(d, kRoundingShift);
  const V t = hn::MulAdd(x, hn::Set(d, 0.636619772f), shift);
  const V n = hn::Sub(t, shift);
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.921fb6p+0f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -0x1.777a5cp-25f), r);
  r = hn::NegMulAdd(n, hn::Set(d, -0x1.ee59dap-50f), r);
  const V s = hn::Mul(r, r);
  const V sine =
      hn::MulAdd(hn::Mul(s, r), polynomial(d, s, -0.16666667f, 0.008333329f, -0.00019839256f, 2.7175645e-06f), r);
  const V cosine =
      hn::MulAdd(hn::Mul(s, s), polynomial(d, s, 0.041666668f, -0.0013888883f, 2.4799436e-05f, -2.7203305e-07f),
                 hn::NegMulAdd(s, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
  const auto q = hn::Add(hn::BitCast(di, t), hn::Set(di, quarter));
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Neg(hn::And(q, hn::Set(di, 1)))));
  const V sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2))));
  V y = hn::Xor(hn::IfThenElse(odd, cosine, sine), sign);
  const auto beyond = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, kLimit)));
  if (HWY_UNLIKELY(!hn::AllFalse(d, beyond))) {
    HWY_ALIGN float in[hn::MaxLanes(d)];
    HWY_ALIGN float out[hn::MaxLanes(d)];
    hn::Store(x, d, in);
    hn::Store(y, d, out);
    for (size_t i = 0; i < hn::Lanes(d); ++i)
      if (!(std::fabs(in[i]) <= kLimit)) out[i] = quarter ? std::cos(in[i]) : std::sin(in[i]);
    y = hn::Load(d, out);
  }
  return y;
}

template <class D, class V>
HWY_INLINE V sin(D d, V x) {
  return sin_of_quarter(d, x, 0);
}

template <class D, class V>
HWY_INLINE V cos(D d, V x) {
  return sin_of_quarter(d, x, 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
