#include "tests/harness/evaluated.h"

#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "ops/scalar.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<std::vector<Tensor>> run(std::string_view name, const Attrs& attrs, const std::vector<Tensor>& in) {
  const OpDef* op = find_op(name);
  if (op == nullptr) return Error(Code::kInternal, "no operator " + std::string(name));
  std::vector<TensorView> views;
  for (const Tensor& x : in) views.push_back(x.view());
  if (!op->variadic()) views.resize(op->inputs.size());
  return evaluate(*op, attrs, views);
}

}  // namespace

Tensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values) {
  Result<Tensor> tensor = Tensor::zeros(dtype, std::move(shape));
  EXPECT_TRUE(tensor);
  EXPECT_EQ(static_cast<size_t>(num_elements(tensor->shape())), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    store_scalar(tensor->view(), static_cast<int64_t>(i), dtype, make_scalar(dtype, values[i]));
  return *std::move(tensor);
}

Tensor f32(Shape shape, const std::vector<double>& values) { return tensor_of(DType::kF32, std::move(shape), values); }
Tensor i64(Shape shape, const std::vector<double>& values) { return tensor_of(DType::kI64, std::move(shape), values); }

std::vector<double> evaluated(std::string_view op, Attrs attrs, const std::vector<Tensor>& in, size_t output) {
  Result<std::vector<Tensor>> results = run(op, attrs, in);
  if (!results) {
    ADD_FAILURE() << to_string(results.error());
    return {};
  }
  const Tensor& y = (*results)[output];
  std::vector<double> values;
  for (int64_t i = 0; i < num_elements(y.shape()); ++i)
    values.push_back(cast_scalar(load_scalar(y.view(), i), y.dtype(), DType::kF64).f);
  return values;
}

std::string refused(std::string_view op, Attrs attrs, const std::vector<Tensor>& in) {
  const Result<std::vector<Tensor>> results = run(op, attrs, in);
  return results ? "" : to_string(results.error());
}

std::string inferred(std::string_view op, Attrs attrs, const std::vector<TensorType>& in) {
  std::vector<const TensorType*> types;
  for (const TensorType& type : in) types.push_back(&type);
  if (!find_op(op)->variadic()) types.resize(find_op(op)->inputs.size(), nullptr);
  const Result<Types> results = infer_types(*find_op(op), attrs, types);
  return results ? to_string((*results)[0]) : to_string(results.error());
}

}  // namespace plica
