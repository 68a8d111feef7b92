#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/ops_cpu/vector_math_test.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/vector_math-inl.h"
#include "tests/ops_cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

// One vector function over n values, n a multiple of the lanes.
#define PLICA_APPLY(name)                                                                            \
  void apply_##name(const float* x, float* y, size_t n) {                                            \
    const hn::ScalableTag<float> d;                                                                  \
    for (size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(name(d, hn::LoadU(d, x + i)), d, y + i); \
  }
PLICA_APPLY(exp)
PLICA_APPLY(exp_nonpositive)
PLICA_APPLY(log)
PLICA_APPLY(erf)
PLICA_APPLY(sigmoid)
PLICA_APPLY(tanh)
PLICA_APPLY(gelu)
PLICA_APPLY(gelu_tanh)
PLICA_APPLY(silu)
PLICA_APPLY(rsqrt)
PLICA_APPLY(sin)
PLICA_APPLY(cos)

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {
namespace {

HWY_EXPORT(apply_exp);
HWY_EXPORT(apply_exp_nonpositive);
HWY_EXPORT(apply_log);
HWY_EXPORT(apply_erf);
HWY_EXPORT(apply_sigmoid);
HWY_EXPORT(apply_tanh);
HWY_EXPORT(apply_gelu);
HWY_EXPORT(apply_gelu_tanh);
HWY_EXPORT(apply_silu);
HWY_EXPORT(apply_rsqrt);
HWY_EXPORT(apply_sin);
HWY_EXPORT(apply_cos);

using Apply = void (*)(const float*, float*, size_t);
using Reference = double (*)(double);

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> spread(float lo, float hi) {
  constexpr int kPoints = 1 << 15;
  std::vector<float> x(kPoints);
  for (int i = 0; i < kPoints; ++i) x[i] = static_cast<float>(lo + (static_cast<double>(hi) - lo) * i / (kPoints - 1));
  return x;
}

// The unit in the last place of a float near y.
double ulp(double y) {
  const float f = static_cast<float>(std::fabs(y));
  return std::max(double{std::nextafter(f, kInf)} - f, double{std::numeric_limits<float>::denorm_min()});
}

struct Bound {
  double ulps;
  double absolute = 0;
};

void expect_close(const char* name, Apply apply, Reference reference, float lo, float hi, Bound bound) {
  const std::vector<float> x = spread(lo, hi);
  std::vector<float> y(x.size());
  apply(x.data(), y.data(), x.size());
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = reference(x[i]);
    const double error = std::max(0.0, std::fabs(y[i] - wanted) - bound.absolute) / ulp(wanted);
    if (!(error <= worst)) worst = error, at = i;
  }
  EXPECT_LE(worst, bound.ulps) << name << "(" << x[at] << ") = " << y[at] << ", wanted " << reference(x[at]);
}

void expect_values(const char* name, Apply apply, const std::vector<std::pair<float, float>>& pairs) {
  for (auto [x, wanted] : pairs) {
    std::vector<float> in(64, x), out(64);
    apply(in.data(), out.data(), in.size());
    for (float y : out)
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(y)) << name << "(" << x << ") = " << y;
      else
        EXPECT_EQ(y, wanted) << name << "(" << x << ")";
  }
}

#define PLICA_FN(name) #name, HWY_DYNAMIC_DISPATCH(apply_##name)

TEST(VectorMath, ExponentialsAreAccurate) {
  on_every_target([] {
    expect_close(PLICA_FN(exp), std::exp, -104, 88.7f, {2});
    expect_close(PLICA_FN(exp), std::exp, -1, 1, {1.5});
    expect_close(PLICA_FN(exp_nonpositive), std::exp, -5, 0, {5});
    expect_close(PLICA_FN(exp_nonpositive), std::exp, -87.2f, 0, {80});
    expect_values(PLICA_FN(exp),
                  {{0, 1}, {-kInf, 0}, {kInf, kInf}, {89, kInf}, {3e38f, kInf}, {-3e38f, 0}, {kNaN, kNaN}});
    expect_values(PLICA_FN(exp_nonpositive), {{0, 1}, {-0.0f, 1}, {-kInf, 0}, {-3.4e38f, 0}, {-88, 0}, {kNaN, kNaN}});
  });
}

TEST(VectorMath, LogarithmIsAccurate) {
  on_every_target([] {
    expect_close(PLICA_FN(log), std::log, 0.5f, 2, {2});
    expect_close(PLICA_FN(log), std::log, 1e-3f, 1e6f, {2});
    expect_close(PLICA_FN(log), std::log, 1e-44f, 1e-37f, {2});
    expect_values(PLICA_FN(log),
                  {{1, 0}, {0, -kInf}, {-0.0f, -kInf}, {kInf, kInf}, {-1, kNaN}, {-kInf, kNaN}, {kNaN, kNaN}});
  });
}

double sigmoid_reference(double x) { return 1 / (1 + std::exp(-x)); }
double silu_reference(double x) { return x / (1 + std::exp(-x)); }
double rsqrt_reference(double x) { return 1 / std::sqrt(x); }
double gelu_reference(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh_reference(double x) {
  return x * sigmoid_reference(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

TEST(VectorMath, ActivationsAreAccurate) {
  on_every_target([] {
    expect_close(PLICA_FN(erf), std::erf, -5, 5, {2});
    expect_close(PLICA_FN(erf), std::erf, -1e-3f, 1e-3f, {2});
    expect_close(PLICA_FN(sigmoid), sigmoid_reference, -80, 80, {3});
    expect_close(PLICA_FN(tanh), std::tanh, -10, 10, {3});
    expect_close(PLICA_FN(silu), silu_reference, -80, 80, {4});
    expect_close(PLICA_FN(gelu), gelu_reference, -10, 10, {2, 2e-7});
    expect_close(PLICA_FN(gelu_tanh), gelu_tanh_reference, -10, 10, {4, 2e-7});
    expect_close(PLICA_FN(rsqrt), rsqrt_reference, 1e-6f, 1e3f, {2});
    expect_values(PLICA_FN(erf), {{0, 0}, {kInf, 1}, {-kInf, -1}, {100, 1}, {kNaN, kNaN}});
    expect_values(PLICA_FN(tanh), {{0, 0}, {kInf, 1}, {-kInf, -1}, {1e30f, 1}, {kNaN, kNaN}});
    expect_values(PLICA_FN(sigmoid), {{0, 0.5f}, {kInf, 1}, {-kInf, 0}, {-1e30f, 0}, {kNaN, kNaN}});
    expect_values(PLICA_FN(gelu), {{0, 0}, {kInf, kInf}, {100, 100}, {-100, 0}, {kNaN, kNaN}});
  });
}

TEST(VectorMath, AnglesMayBeLarge) {
  on_every_target([] {
    for (float limit : {1.0f, 1e3f, 1e5f, 1e6f, 1e9f}) {
      expect_close(PLICA_FN(sin), std::sin, -limit, limit, {2, 5e-8});
      expect_close(PLICA_FN(cos), std::cos, -limit, limit, {2, 5e-8});
    }
    expect_values(PLICA_FN(sin), {{0, 0}, {kInf, kNaN}, {kNaN, kNaN}});
    expect_values(PLICA_FN(cos), {{0, 1}, {-kInf, kNaN}, {kNaN, kNaN}});
  });
}

}  // namespace
}  // namespace plica::cpu
#endif  // HWY_ONCE
