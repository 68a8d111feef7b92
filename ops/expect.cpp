#include "ops/expect.h"

#include <string>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Error mismatch(std::string_view where, const std::string& found, const std::string& wanted) {
  return Error(Code::kInvalidModel, std::string(where) + " is " + found + ", wanted " + wanted);
}

}  // namespace

Status expect_dtype(std::string_view where, const TensorType& found, DType wanted) {
  if (found.dtype == wanted) return {};
  return mismatch(where, std::string(name_of(found.dtype)), std::string(name_of(wanted)));
}

Status expect_float(std::string_view where, const TensorType& found) {
  if (is_float(found.dtype)) return {};
  return mismatch(where, std::string(name_of(found.dtype)), "f32, f64, f16 or bf16");
}

Status expect_number(std::string_view where, const TensorType& found) {
  if (found.dtype != DType::kBool) return {};
  return mismatch(where, "bool", "a number type");
}

Status expect_index(std::string_view where, const TensorType& found) {
  if (found.dtype == DType::kI32 || found.dtype == DType::kI64) return {};
  return mismatch(where, std::string(name_of(found.dtype)), "i32 or i64");
}

Status expect_rank(std::string_view where, const TensorType& found, size_t at_least) {
  if (found.shape.size() >= at_least) return {};
  return mismatch(where, to_string(found.shape), "rank " + std::to_string(at_least) + " or more");
}

Status expect_shape(std::string_view where, const TensorType& found, const Shape& wanted) {
  if (found.shape == wanted) return {};
  return mismatch(where, to_string(found.shape), to_string(wanted));
}

Status expect_broadcast(std::string_view where, const TensorType& found, const Shape& target) {
  const size_t rank = found.shape.size();
  bool fits = rank <= target.size();
  for (size_t i = 0; fits && i < rank; ++i) {
    const int64_t size = found.shape[i];
    fits = size == 1 || size == target[i + target.size() - rank];
  }
  if (fits) return {};
  return mismatch(where, to_string(found.shape), "a shape that broadcasts to " + to_string(target));
}

Status expect_axis(std::string_view where, int64_t axis, size_t rank) {
  if (axis >= 0 && axis < static_cast<int64_t>(rank)) return {};
  return mismatch(where, std::to_string(axis), "an axis in [0, " + std::to_string(rank) + ")");
}

Status expect_operand(std::string_view where, const TensorType* found, DType dtype, const Shape& target) {
  if (found == nullptr) return {};
  PLICA_CHECK(expect_dtype(where, *found, dtype));
  return expect_broadcast(where, *found, target);
}

}  // namespace plica
