#include "loaders/onnx/element_type.h"

#include <iterator>

namespace plica::onnx {
namespace {

struct Row {
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr Row kRows[] = {
    {"undefined", std::nullopt},
    {"float", DType::kF32},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"uint16", DType::kU16},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"string", std::nullopt},
    {"bool", DType::kBool},
    {"float16", DType::kF16},
    {"double", DType::kF64},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"complex64", std::nullopt},
    {"complex128", std::nullopt},
    {"bfloat16", DType::kBF16},
    {"float8e4m3fn", std::nullopt},
    {"float8e4m3fnuz", std::nullopt},
    {"float8e5m2", std::nullopt},
    {"float8e5m2fnuz", std::nullopt},
    {"uint4", std::nullopt},
    {"int4", std::nullopt},
    {"float4e2m1", std::nullopt},
    {"float8e8m0", std::nullopt},
    {"uint2", std::nullopt},
    {"int2", std::nullopt},
    {"float6e2m3", std::nullopt},
    {"float6e3m2", std::nullopt},
};

}  // namespace

std::optional<DType> dtype_of(int64_t element_type) {
  if (element_type < 0 || element_type >= static_cast<int64_t>(std::size(kRows))) return std::nullopt;
  return kRows[element_type].dtype;
}

int64_t element_type_of(DType dtype) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].dtype == dtype) return static_cast<int64_t>(i);
  return 0;
}

std::string name_of_element_type(int64_t element_type) {
  if (element_type < 0 || element_type >= static_cast<int64_t>(std::size(kRows)))
    return "element type " + std::to_string(element_type);
  return std::string(kRows[element_type].name);
}

}  // namespace plica::onnx
