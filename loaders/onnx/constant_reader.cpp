#include "loaders/onnx/constant_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "loaders/onnx/element_type.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian and used in place");

Error invalid(std::string text) { return Error(Code::kInvalidModel, std::move(text)); }

Result<Shape> read_shape(const proto::TensorProto& tensor, size_t element_bytes) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  int64_t bytes = static_cast<int64_t>(element_bytes);
  for (int64_t size : shape) {
    if (size < 0) return invalid("shape " + to_string(shape) + " has a negative size");
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes))
      return invalid("shape " + to_string(shape) + " has more bytes than can be addressed");
  }
  return shape;
}

Status check_count(size_t found, size_t wanted, const Constant& constant, std::string_view unit) {
  if (found == wanted) return {};
  std::string text("the tensor has ");
  text.append(std::to_string(found))
      .append(" ")
      .append(unit)
      .append(" of data, its type ")
      .append(to_string(constant.type));
  return invalid(text.append(" wants ").append(std::to_string(wanted)));
}

// Stores `field`, whose elements hold one element each, as elements of type T.
template <class T, class Field>
Status store(const Field& field, Constant& constant) {
  const size_t count = static_cast<size_t>(num_elements(constant.type.shape));
  PLICA_CHECK(check_count(static_cast<size_t>(field.size()), count, constant, "elements"));
  PLICA_TRY(auto memory, allocate(count * sizeof(T), "tensor '" + constant.name + "'"));
  T* to = static_cast<T*>(memory.get());
  for (const auto element : field) {
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)
      *to++ = {static_cast<uint16_t>(element)};
    else if constexpr (std::is_same_v<T, bool>)
      *to++ = element != 0;
    else
      *to++ = static_cast<T>(element);
  }
  constant.data = memory.get();
  constant.owner = std::move(memory);
  return {};
}

bool is_bool_clean(const std::byte* data, size_t size) {
  return std::all_of(data, data + size, [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace

Result<Constant> ConstantReader::read(const proto::TensorProto& tensor) {
  Constant constant;
  constant.name = tensor.name();
  const int64_t element_type = tensor.data_type();
  const auto dtype = dtype_of(element_type);
  auto status = [&]() -> Status {
    if (element_type == proto::TensorProto::UNDEFINED) return invalid("the tensor has no element type");
    PLICA_TRY(constant.type.shape, read_shape(tensor, dtype ? size_of(*dtype) : 16));
    if (tensor.has_segment()) {
      constant.problem = "the tensor is stored in segments";
    } else if (!dtype) {
      constant.problem = "the tensor holds elements of type " + name_of_element_type(element_type);
    } else {
      constant.type.dtype = *dtype;
      return read_data(tensor, constant);
    }
    return {};
  }();
  if (!status) return status.take_error().context("reading tensor '" + tensor.name() + "'");
  return constant;
}

Status ConstantReader::read_data(const proto::TensorProto& tensor, Constant& constant) {
  const size_t bytes = num_bytes(constant.type);
  if (tensor.data_location() == proto::TensorProto::EXTERNAL) {
    PLICA_TRY(const ExternalFiles::Region region, external_.find(tensor, bytes));
    return place(region.file, region.offset, bytes, constant);
  }
  if (tensor.has_raw_data()) {
    PLICA_TRY(const RawBytes raw, raw_bytes(skeleton_, tensor.raw_data()));
    PLICA_CHECK(check_count(raw.length, bytes, constant, "bytes"));
    return place(file_, raw.offset, bytes, constant);
  }
  PLICA_CHECK(copy_typed_field(tensor, constant));
  bytes_copied_ += static_cast<int64_t>(bytes);
  return {};
}

Status ConstantReader::place(const FileBytes& file, size_t offset, size_t bytes, Constant& constant) {
  const std::byte* data = file.bytes().data() + offset;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % size_of(constant.type.dtype) == 0;
  const bool usable = constant.type.dtype != DType::kBool || is_bool_clean(data, bytes);
  if (aligned && usable && bytes > 0) {
    constant.data = data;
    constant.owner = file.owner();
    (file.mapped() ? bytes_mapped_ : bytes_copied_) += static_cast<int64_t>(bytes);
    return {};
  }
  PLICA_TRY(auto memory, allocate(bytes, "tensor '" + constant.name + "'"));
  if (usable) {
    if (bytes > 0) std::memcpy(memory.get(), data, bytes);
  } else {
    std::transform(data, data + bytes, static_cast<bool*>(memory.get()), [](std::byte b) { return b != std::byte{0}; });
  }
  constant.data = memory.get();
  constant.owner = std::move(memory);
  bytes_copied_ += static_cast<int64_t>(bytes);
  return {};
}

Status ConstantReader::copy_typed_field(const proto::TensorProto& tensor, Constant& constant) {
  return visit_dtype(constant.type.dtype, [&](auto tag) -> Status {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float>)
      return store<T>(tensor.float_data(), constant);
    else if constexpr (std::is_same_v<T, double>)
      return store<T>(tensor.double_data(), constant);
    else if constexpr (std::is_same_v<T, int64_t>)
      return store<T>(tensor.int64_data(), constant);
    else if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, uint32_t>)
      return store<T>(tensor.uint64_data(), constant);
    else
      return store<T>(tensor.int32_data(), constant);
  });
}

}  // namespace plica::onnx
