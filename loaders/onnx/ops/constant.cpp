#include <algorithm>
#include <cmath>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

// A scalar seen as a large tensor: no element is written.
Status constant_of_shape(Lowering& n) {
  PLICA_TRY(Shape shape, n.known_ints(0));
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    return invalid_model("wanted shape " + to_string(shape) + " has a negative size");
  const Attribute* value = n.node().find("value");
  if (value == nullptr) return n.give(n.full(0, DType::kF32, std::move(shape)));
  const auto* tensor = std::get_if<TensorAttribute>(&value->value);
  if (tensor == nullptr) return invalid_model("attribute 'value' is not a tensor");
  const Constant& constant = n.module().constants[static_cast<size_t>(tensor->constant)];
  if (!constant.problem.empty()) return unsupported("attribute 'value': " + constant.problem);
  if (num_elements(constant.type.shape) != 1)
    return invalid_model("attribute 'value' is " + to_string(constant.type) + ", wanted a single element");
  PLICA_TRY(Tensor number, Tensor::zeros(constant.type.dtype, {}));
  std::copy_n(static_cast<const char*>(constant.data), size_of(constant.type.dtype), number.as<char>());
  return n.give(n.expand(n.constant(std::move(number)), std::move(shape)));
}

template <class T>
Result<Tensor> range_of(const plica::Constant& start, const plica::Constant& limit, const plica::Constant& delta,
                        DType dtype) {
  const T first = *static_cast<const T*>(start.data), step = *static_cast<const T*>(delta.data);
  const T end = *static_cast<const T*>(limit.data);
  if (step == 0) return invalid_model("the step is 0, wanted another number");
  const double count = std::ceil((static_cast<double>(end) - static_cast<double>(first)) / static_cast<double>(step));
  if (!(count < 2147483648.0)) return invalid_model("the range has " + std::to_string(count) + " elements");
  PLICA_TRY(Tensor values, Tensor::zeros(dtype, {count > 0 ? static_cast<int64_t>(count) : 0}));
  for (int64_t i = 0; i < values.shape()[0]; ++i) values.as<T>()[i] = static_cast<T>(first + static_cast<T>(i) * step);
  return values;
}

Status range(Lowering& n) {
  ConstantPtr bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    PLICA_TRY(bounds[i], n.known(i));
    if (num_elements(bounds[i]->type.shape) != 1 || bounds[i]->type.dtype != bounds[0]->type.dtype)
      return invalid_model("operand " + std::to_string(i) + " is " + to_string(bounds[i]->type) +
                           ", wanted a scalar of " + std::string(name_of(bounds[0]->type.dtype)));
  }
  const DType dtype = bounds[0]->type.dtype;
  return visit_dtype(dtype, [&](auto tag) -> Status {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      PLICA_TRY(Tensor values, range_of<T>(*bounds[0], *bounds[1], *bounds[2], dtype));
      return n.give(n.constant(std::move(values)));
    } else {
      // 16-bit floats count in f32.
      ConstantPtr wide[3];
      for (size_t i = 0; i < 3; ++i) {
        PLICA_TRY(const Id cast, n.cast(n.in(i), DType::kF32));
        PLICA_TRY(wide[i], n.value_of(cast));
      }
      PLICA_TRY(Tensor values, range_of<float>(*wide[0], *wide[1], *wide[2], DType::kF32));
      return n.give(n.cast(n.constant(std::move(values)), dtype));
    }
  });
}

Status eye_like(Lowering& n) {
  const Shape shape = n.shape(n.in(0));
  if (shape.size() != 2) return invalid_model("the input is " + to_string(shape) + ", wanted a matrix");
  PLICA_TRY(const DType dtype, n.dtype_attr("dtype", n.dtype(n.in(0))));
  PLICA_TRY(const int64_t k, n.attr("k", 0));
  PLICA_TRY(Tensor eye, Tensor::zeros(DType::kBool, shape));
  for (int64_t row = std::max<int64_t>(0, -k); row < shape[0] && row + k < shape[1]; ++row)
    eye.as<bool>()[row * shape[1] + row + k] = true;
  return n.give(n.cast(n.constant(std::move(eye)), dtype));
}

constexpr OpRow kRows[] = {
    {"ConstantOfShape", 9, 1, constant_of_shape},
    {"EyeLike", 9, 1, eye_like},
    {"Range", 11, 3, range},
};

}  // namespace

std::span<const OpRow> constant_rows() { return kRows; }

}  // namespace plica::onnx
