#include "ops/cpu/elementwise.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct AllLanes {
  HWY_INLINE V load(const float* p) const { return hn::LoadU(D(), p); }
  HWY_INLINE void store(V v, float* p) const { hn::StoreU(v, D(), p); }
};
struct SomeLanes {
  hn::Mask<D> mask;
  HWY_INLINE V load(const float* p) const { return hn::MaskedLoad(mask, D(), p); }
  HWY_INLINE void store(V v, float* p) const { hn::BlendedStore(v, mask, D(), p); }
};

// Calls step(lanes, i) for every vector of n values.
template <class Step>
HWY_INLINE void for_each_vector(int64_t n, const Step& step) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) step(AllLanes(), i);
  if (i < n) step(SomeLanes{hn::FirstN(D(), static_cast<size_t>(n - i))}, i);
}

HWY_INLINE V truth(hn::Mask<D> mask) { return hn::IfThenElseZero(mask, hn::Set(D(), 1.0f)); }
// hn::Ne is false for NaN on x86.
HWY_INLINE hn::Mask<D> holds(V v) { return hn::Not(hn::Eq(v, hn::Zero(D()))); }
HWY_INLINE hn::Mask<D> is_nan(V v) { return hn::IsNaN(v); }

// NaN where either is; hn::Max and hn::Min differ in that between targets.
HWY_INLINE V with_nan(V a, V b, V y) { return hn::IfThenElse(is_nan(a), a, hn::IfThenElse(is_nan(b), b, y)); }

HWY_INLINE V sign(V a) {
  const V one = hn::Set(D(), 1.0f), zero = hn::Zero(D());
  return hn::IfThenElse(hn::Gt(a, zero), one, hn::IfThenElse(hn::Lt(a, zero), hn::Neg(one), a));
}

#define PLICA_UNARY(name, expression)                                           \
  void name(const float* pa, const float*, const float*, float* y, int64_t n) { \
    for_each_vector(n, [&](const auto& lanes, int64_t i) HWY_ATTR {             \
      const D d;                                                                \
      const V a = lanes.load(pa + i);                                           \
      (void)d;                                                                  \
      lanes.store(expression, y + i);                                           \
    });                                                                         \
  }
#define PLICA_BINARY(name, expression)                                             \
  void name(const float* pa, const float* pb, const float*, float* y, int64_t n) { \
    for_each_vector(n, [&](const auto& lanes, int64_t i) HWY_ATTR {                \
      const V a = lanes.load(pa + i), b = lanes.load(pb + i);                      \
      lanes.store(expression, y + i);                                              \
    });                                                                            \
  }

PLICA_UNARY(copy_each, a)
PLICA_UNARY(abs_each, hn::Abs(a))
PLICA_UNARY(neg_each, hn::Neg(a))
PLICA_UNARY(relu_each, hn::IfThenZeroElse(hn::Lt(a, hn::Zero(d)), a))
PLICA_UNARY(square_each, hn::Mul(a, a))
PLICA_UNARY(sqrt_each, hn::Sqrt(a))
PLICA_UNARY(exp_each, exp(d, a))
PLICA_UNARY(log_each, log(d, a))
PLICA_UNARY(erf_each, erf(d, a))
PLICA_UNARY(sin_each, sin(d, a))
PLICA_UNARY(cos_each, cos(d, a))
PLICA_UNARY(tanh_each, tanh(d, a))
PLICA_UNARY(sigmoid_each, sigmoid(d, a))
PLICA_UNARY(silu_each, silu(d, a))
PLICA_UNARY(gelu_each, gelu(d, a))
PLICA_UNARY(gelu_tanh_each, gelu_tanh(d, a))
PLICA_UNARY(floor_each, hn::Floor(a))
PLICA_UNARY(ceil_each, hn::Ceil(a))
PLICA_UNARY(round_each, hn::Round(a))
PLICA_UNARY(sign_each, sign(a))
PLICA_UNARY(not_each, truth(hn::Not(holds(a))))
PLICA_UNARY(is_nonzero_each, truth(holds(a)))
PLICA_UNARY(is_nan_each, truth(is_nan(a)))
PLICA_UNARY(is_inf_each, truth(hn::Eq(hn::Abs(a), hn::Set(d, HUGE_VALF))))
PLICA_BINARY(add_each, hn::Add(a, b))
PLICA_BINARY(sub_each, hn::Sub(a, b))
PLICA_BINARY(mul_each, hn::Mul(a, b))
PLICA_BINARY(div_each, hn::Div(a, b))
PLICA_BINARY(max_each, with_nan(a, b, hn::Max(a, b)))
PLICA_BINARY(min_each, with_nan(a, b, hn::Min(a, b)))
PLICA_BINARY(equal_each, truth(hn::Eq(a, b)))
PLICA_BINARY(less_each, truth(hn::Lt(a, b)))
PLICA_BINARY(less_or_equal_each, truth(hn::Le(a, b)))
PLICA_BINARY(and_each, truth(hn::And(holds(a), holds(b))))
PLICA_BINARY(or_each, truth(hn::Or(holds(a), holds(b))))
PLICA_BINARY(xor_each, truth(hn::Xor(holds(a), holds(b))))

void pow_each(const float* a, const float* b, const float*, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::pow(a[i], b[i]);
}

void where_each(const float* pa, const float* pb, const float* pc, float* y, int64_t n) {
  for_each_vector(n, [&](const auto& lanes, int64_t i) HWY_ATTR {
    lanes.store(hn::IfThenElse(holds(lanes.load(pa + i)), lanes.load(pb + i), lanes.load(pc + i)), y + i);
  });
}

// In the order of Elementwise.
constexpr ElementwiseFn kFunctions[] = {
    copy_each,  abs_each,           neg_each,   relu_each, square_each,  sqrt_each,       exp_each,    log_each,
    erf_each,   sin_each,           cos_each,   tanh_each, sigmoid_each, silu_each,       gelu_each,   gelu_tanh_each,
    floor_each, ceil_each,          round_each, sign_each, not_each,     is_nonzero_each, is_nan_each, is_inf_each,
    add_each,   sub_each,           mul_each,   div_each,  max_each,     min_each,        pow_each,    equal_each,
    less_each,  less_or_equal_each, and_each,   or_each,   xor_each,     where_each,
};

ElementwiseFn function_of(Elementwise fn) { return kFunctions[static_cast<size_t>(fn)]; }

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(function_of);

ElementwiseFn elementwise(Elementwise fn) { return HWY_DYNAMIC_DISPATCH(function_of)(fn); }

}  // namespace plica::cpu
#endif  // HWY_ONCE
