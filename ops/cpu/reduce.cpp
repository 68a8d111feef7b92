#include "ops/cpu/reduce.h"

#include <algorithm>
#include <array>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/reduce.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kChains = 4;
constexpr int64_t kStretch = 128;  // rows of a column that are folded in one chain: sums of sums stay exact longer

// NaN where either is; hn::Max and hn::Min differ in that between targets.
HWY_INLINE V with_nan(V a, V b, V y) { return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, y)); }

struct Sum {
  static constexpr float kStart = 0;
  HWY_INLINE V operator()(V a, V b) const { return hn::Add(a, b); }
};
struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE V operator()(V a, V b) const { return with_nan(a, b, hn::Max(a, b)); }
};
struct Min {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  HWY_INLINE V operator()(V a, V b) const { return with_nan(a, b, hn::Min(a, b)); }
};
struct Prod {
  static constexpr float kStart = 1;
  HWY_INLINE V operator()(V a, V b) const { return hn::Mul(a, b); }
};

template <class F>
float row(const float* x, int64_t n, const F& fold) {
  const D d;
  V a = hn::Set(d, F::kStart), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
    a = fold(a, hn::LoadU(d, x + i));
    b = fold(b, hn::LoadU(d, x + i + kLanes));
    c = fold(c, hn::LoadU(d, x + i + 2 * kLanes));
    e = fold(e, hn::LoadU(d, x + i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a = fold(a, hn::LoadU(d, x + i));
  if (i < n) {
    const auto rest = hn::FirstN(d, static_cast<size_t>(n - i));
    b = hn::IfThenElse(rest, fold(b, hn::MaskedLoad(rest, d, x + i)), b);
  }
  HWY_ALIGN std::array<float, static_cast<size_t>(kLanes)> lanes;
  hn::Store(fold(fold(a, b), fold(c, e)), d, lanes.data());
  V total = hn::Set(d, F::kStart);
  for (const float lane : lanes) total = fold(total, hn::Set(d, lane));
  return hn::GetLane(total);
}

// `kVectors` vectors of adjacent columns, of the last one the lanes of `mask`.
template <int64_t kVectors, class F>
HWY_INLINE void strip(const float* x, int64_t stride, int64_t rows, float* y, hn::Mask<D> mask, const F& fold) {
  const D d;
  V totals[kVectors];
  for (V& total : totals) total = hn::Set(d, F::kStart);
  for (int64_t first = 0; first < rows; first += kStretch) {
    V chains[kVectors];
    for (V& chain : chains) chain = hn::Set(d, F::kStart);
    for (int64_t r = first; r < std::min(rows, first + kStretch); ++r) {
      const float* from = x + r * stride;
      for (int64_t k = 0; k + 1 < kVectors; ++k) chains[k] = fold(chains[k], hn::LoadU(d, from + k * kLanes));
      constexpr int64_t kLast = kVectors - 1;
      chains[kLast] = fold(chains[kLast], hn::MaskedLoad(mask, d, from + kLast * kLanes));
    }
    for (int64_t k = 0; k < kVectors; ++k) totals[k] = fold(totals[k], chains[k]);
  }
  for (int64_t k = 0; k + 1 < kVectors; ++k) hn::StoreU(totals[k], d, y + k * kLanes);
  hn::BlendedStore(totals[kVectors - 1], mask, d, y + (kVectors - 1) * kLanes);
}

template <class F>
void columns(const float* x, int64_t stride, int64_t rows, float* y, int64_t n, const F& fold) {
  const D d;
  const auto all = hn::FirstN(d, static_cast<size_t>(kLanes));
  int64_t c = 0;
  for (; c + kChains * kLanes <= n; c += kChains * kLanes) strip<kChains>(x + c, stride, rows, y + c, all, fold);
  for (; c < n; c += kLanes)
    strip<1>(x + c, stride, rows, y + c, hn::FirstN(d, static_cast<size_t>(std::min(kLanes, n - c))), fold);
}

template <class Run>
HWY_INLINE void with_fold(Fold fold, const Run& run) {
  switch (fold) {
    case Fold::kSum: return run(Sum());
    case Fold::kMax: return run(Max());
    case Fold::kMin: return run(Min());
    case Fold::kProd: return run(Prod());
  }
}

float any_row(Fold fold, const float* x, int64_t n) {
  float total = 0;
  with_fold(fold, [&](const auto& f) { total = row(x, n, f); });
  return total;
}

void any_columns(Fold fold, const float* x, int64_t stride, int64_t rows, float* y, int64_t n) {
  with_fold(fold, [&](const auto& f) { columns(x, stride, rows, y, n, f); });
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(any_row);
HWY_EXPORT(any_columns);

float fold_row(Fold fold, const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(any_row)(fold, x, n); }

void fold_columns(Fold fold, const float* x, int64_t stride, int64_t rows, float* y, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(any_columns)(fold, x, stride, rows, y, columns);
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
