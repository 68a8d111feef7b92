#include "plica/tensor.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/core/shape.h"

namespace plica {

Result<Tensor> Tensor::zeros(DType dtype, Shape shape) {
  size_t bytes = size_of(dtype);
  for (int64_t size : shape) {
    if (size < 0) return Error(Code::kInvalidInput, "shape " + to_string(shape) + " has a negative size");
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes) ||
        bytes > static_cast<size_t>(std::numeric_limits<int64_t>::max()))
      return Error(Code::kOutOfMemory,
                   "a tensor of shape " + to_string(shape) + " has more bytes than can be addressed");
  }
  constexpr size_t kAlignment = 64, kHugePage = size_t{1} << 21;
  const size_t padded = (bytes + kAlignment) / kAlignment * kAlignment;
  const bool is_large = padded >= 2 * kHugePage;
  void* data = is_large ? std::aligned_alloc(kHugePage, (padded + kHugePage - 1) / kHugePage * kHugePage)
                        : std::aligned_alloc(kAlignment, padded);
  if (data == nullptr)
    return Error(Code::kOutOfMemory,
                 "no memory for a tensor of shape " + to_string(shape) + " (" + std::to_string(padded) + " bytes)");
  if (is_large) madvise(data, padded, MADV_HUGEPAGE);  // a wish; where it is not granted, nothing is lost
  std::memset(data, 0, padded);
  Tensor tensor;
  tensor.type_ = {dtype, std::move(shape), {}};
  tensor.data_ = std::shared_ptr<void>(data, std::free);
  return tensor;
}

size_t Tensor::num_bytes() const { return data_ ? plica::num_bytes(type_) : 0; }

}  // namespace plica
