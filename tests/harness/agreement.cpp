#include "tests/harness/agreement.h"

#include <cmath>

#include "ops/scalar.h"
#include "ops/strided.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

bool floats_agree(double found, double wanted, double rounded, double tolerance) {
  if (found == rounded || (std::isnan(found) && std::isnan(wanted))) return true;
  return std::isfinite(wanted) && std::fabs(found - wanted) <= tolerance * (1 + std::fabs(wanted));
}

}  // namespace

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return 2e-5;
    case DType::kF64: return 1e-11;
    case DType::kF16: return 2e-3;
    case DType::kBF16: return 1.6e-2;
    default: return 0;
  }
}

std::optional<std::string> disagreement(const TensorView& found, const TensorView& wanted, double factor) {
  const DType dtype = found.type.dtype;
  const double tolerance = factor * tolerance_of(dtype);
  std::optional<std::string> first;
  for_each_element<2>(wanted.type.shape, {&found.type, &wanted.type}, [&](const std::array<int64_t, 2>& at) {
    if (first) return;
    const Scalar is = load_scalar(found, at[0]), should = load_scalar(wanted, at[1]);
    if (!is_float(dtype)) {
      if (is.i != should.i)
        first =
            "element " + std::to_string(at[1]) + " is " + std::to_string(is.i) + ", wanted " + std::to_string(should.i);
    } else if (!floats_agree(is.f, should.f, cast_scalar(should, wanted.type.dtype, dtype).f, tolerance)) {
      first = "element " + std::to_string(at[1]) + " is " + std::to_string(is.f) + ", wanted " +
              std::to_string(should.f) + " within " + std::to_string(tolerance * (1 + std::fabs(should.f)));
    }
  });
  return first;
}

}  // namespace plica
