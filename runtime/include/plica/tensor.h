#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plica/error.h"
#include "plica/export.h"

namespace plica {

enum class DType : uint8_t { kF32, kF64, kF16, kBF16, kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64 };

PLICA_API std::string_view name_of(DType dtype);  // "f32", "i64", "bool", ...
PLICA_API size_t size_of(DType dtype);            // bytes of one element

using Shape = std::vector<int64_t>;    // sizes, outermost first; {} is a scalar
using Strides = std::vector<int64_t>;  // in elements, may be zero (broadcast) or negative (reversed)

// What is known of a tensor before it has memory.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  Strides strides;  // empty: dense, row-major

  bool operator==(const TensorType&) const = default;
};

PLICA_API std::string to_string(const Shape& shape);      // "2x8x32", "scalar"
PLICA_API std::string to_string(const TensorType& type);  // "f32 2x8x32"
PLICA_API int64_t num_elements(const Shape& shape);

// A typed window on memory that somebody else owns. `data` is the address of element (0, ..., 0).
struct TensorView {
  TensorType type;
  void* data = nullptr;
};

// Owned host memory, dense, row-major, aligned to 64 bytes. Copies share the memory.
class PLICA_API Tensor {
 public:
  Tensor() = default;

  // Zero-filled. kOutOfMemory where the memory cannot be had, kInvalidInput for a negative size.
  static Result<Tensor> zeros(DType dtype, Shape shape);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  size_t num_bytes() const;
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  template <class T>
  T* as() {
    return static_cast<T*>(data());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data());
  }
  TensorView view() const { return {type_, data_.get()}; }

 private:
  TensorType type_;
  std::shared_ptr<void> data_;
};

}  // namespace plica
