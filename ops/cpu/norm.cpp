#include "ops/cpu/norm.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/norm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

HWY_INLINE hn::Mask<D> rest_of(int64_t n, int64_t at) { return hn::FirstN(D(), static_cast<size_t>(n - at)); }

// fold(... fold(start, x0) ..., xn) with four chains, lanes of the last vector beyond n left out; merge joins two chains.
template <class Fold, class Merge>
HWY_INLINE V fold_row(const float* x, int64_t n, V start, const Fold& fold, const Merge& merge) {
  const D d;
  V a = start, b = start, c = start, e = start;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = fold(a, hn::LoadU(d, x + i));
    b = fold(b, hn::LoadU(d, x + i + kLanes));
    c = fold(c, hn::LoadU(d, x + i + 2 * kLanes));
    e = fold(e, hn::LoadU(d, x + i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a = fold(a, hn::LoadU(d, x + i));
  if (i < n) {
    const auto lanes = rest_of(n, i);
    b = hn::IfThenElse(lanes, fold(b, hn::MaskedLoad(lanes, d, x + i)), b);
  }
  return merge(merge(a, b), merge(c, e));
}

// y[i] = map(i, x[i]) for a row; map loads what else it needs with the given function: all lanes, or those that exist.
template <class Map>
HWY_INLINE void map_row(const float* x, float* y, int64_t n, const Map& map) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(map(hn::LoadU(d, x + i), [&](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); }), d, y + i);
  if (i == n) return;
  const auto lanes = rest_of(n, i);
  const auto load = [&](const float* p) HWY_ATTR { return hn::MaskedLoad(lanes, d, p + i); };
  hn::BlendedStore(map(load(x), load), lanes, d, y + i);
}

const auto kAdd = [](V a, V b) HWY_ATTR { return hn::Add(a, b); };

void layer_norm(const NormRows& r, int64_t first, int64_t last) {
  const D d;
  const V zero = hn::Zero(d), count = hn::Set(d, static_cast<float>(r.channels));
  for (int64_t row = first; row < last; ++row) {
    const float* x = r.x + row * r.x_stride;
    const V mean = hn::Div(hn::SumOfLanes(d, fold_row(x, r.channels, zero, kAdd, kAdd)), count);
    const auto square = [&](V sum, V v) HWY_ATTR {
      const V difference = hn::Sub(v, mean);
      return hn::MulAdd(difference, difference, sum);
    };
    const V variance = hn::Div(hn::SumOfLanes(d, fold_row(x, r.channels, zero, square, kAdd)), count);
    const V scale = rsqrt(d, hn::Add(variance, hn::Set(d, r.eps)));
    map_row(x, r.y + row * r.y_stride, r.channels, [&](V v, const auto& load) HWY_ATTR {
      v = hn::Mul(hn::Sub(v, mean), scale);
      if (r.gamma && r.beta) return hn::MulAdd(v, load(r.gamma), load(r.beta));
      if (r.gamma) return hn::Mul(v, load(r.gamma));
      return r.beta ? hn::Add(v, load(r.beta)) : v;
    });
  }
}

void rms_norm(const NormRows& r, int64_t first, int64_t last) {
  const D d;
  const V count = hn::Set(d, static_cast<float>(r.channels));
  const auto square = [](V sum, V v) HWY_ATTR { return hn::MulAdd(v, v, sum); };
  for (int64_t row = first; row < last; ++row) {
    const float* x = r.x + row * r.x_stride;
    const V mean = hn::Div(hn::SumOfLanes(d, fold_row(x, r.channels, hn::Zero(d), square, kAdd)), count);
    const V scale = rsqrt(d, hn::Add(mean, hn::Set(d, r.eps)));
    map_row(x, r.y + row * r.y_stride, r.channels, [&](V v, const auto& load) HWY_ATTR {
      v = hn::Mul(v, scale);
      return r.gamma ? hn::Mul(v, load(r.gamma)) : v;
    });
  }
}

void softmax(const NormRows& r, bool want_log, int64_t first, int64_t last) {
  const D d;
  const V lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto larger = [](V a, V b) HWY_ATTR { return hn::Max(a, b); };
  for (int64_t row = first; row < last; ++row) {
    const float* x = r.x + row * r.x_stride;
    float* y = r.y + row * r.y_stride;
    const V top = hn::MaxOfLanes(d, fold_row(x, r.channels, lowest, larger, larger));
    if (want_log) {
      const auto weigh = [&](V sum, V v) HWY_ATTR { return hn::Add(sum, exp_nonpositive(d, hn::Sub(v, top))); };
      const V sum = log(d, hn::SumOfLanes(d, fold_row(x, r.channels, hn::Zero(d), weigh, kAdd)));
      map_row(x, y, r.channels, [&](V v, const auto&) HWY_ATTR { return hn::Sub(hn::Sub(v, top), sum); });
    } else {
      map_row(x, y, r.channels, [&](V v, const auto&) HWY_ATTR { return exp_nonpositive(d, hn::Sub(v, top)); });
      const V sum = hn::SumOfLanes(d, fold_row(y, r.channels, hn::Zero(d), kAdd, kAdd));
      const V scale = hn::Div(hn::Set(d, 1.0f), sum);
      map_row(y, y, r.channels, [&](V v, const auto&) HWY_ATTR { return hn::Mul(v, scale); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(layer_norm);
HWY_EXPORT(rms_norm);
HWY_EXPORT(softmax);

void layer_norm_rows(const NormRows& rows, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(layer_norm)(rows, first, last);
}

void rms_norm_rows(const NormRows& rows, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(rms_norm)(rows, first, last);
}

void softmax_rows(const NormRows& rows, bool log, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(softmax)(rows, log, first, last);
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
