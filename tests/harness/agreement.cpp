#include "tests/harness/agreement.h"

#include <cmath>

#include "ops/scalar.h"
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
  for (int64_t i = 0; i < num_elements(found.type.shape); ++i) {
    const Scalar is = load_scalar(found, i), should = load_scalar(wanted, i);
    if (!is_float(dtype)) {
      if (is.i == should.i) continue;
      return "element " + std::to_string(i) + " is " + std::to_string(is.i) + ", wanted " + std::to_string(should.i);
    }
    if (floats_agree(is.f, should.f, cast_scalar(should, wanted.type.dtype, dtype).f, tolerance)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(is.f) + ", wanted " + std::to_string(should.f) +
           " within " + std::to_string(tolerance * (1 + std::fabs(should.f)));
  }
  return std::nullopt;
}

}  // namespace plica
