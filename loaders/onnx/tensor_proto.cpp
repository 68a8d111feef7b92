#include "loaders/onnx/tensor_proto.h"

#include <cstring>

#include "loaders/file/output_file.h"
#include "loaders/onnx/constant_reader.h"
#include "loaders/onnx/element_type.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

Error as_input_error(Error error) {
  return error.code() == Code::kInvalidModel ? Error(Code::kInvalidInput, error.what(), error.at()) : std::move(error);
}

Result<NamedTensor> parse(const std::string& path) {
  PLICA_TRY(const FileBytes file, FileBytes::open(path, /*map=*/true));
  PLICA_TRY(const Skeleton skeleton, read_skeleton(file.bytes(), Message::kTensor));
  proto::TensorProto tensor;
  if (!tensor.ParseFromString(skeleton.message))
    return Error(Code::kInvalidInput, "the file is no serialised TensorProto");
  ConstantReader reader(file, skeleton, ExternalFiles(path, /*map=*/true));
  PLICA_TRY(const Constant constant, reader.read(tensor));
  if (!constant.problem.empty()) return Error(Code::kUnsupported, constant.problem);
  NamedTensor out{constant.name, {}};
  PLICA_TRY(out.tensor, Tensor::zeros(constant.type.dtype, constant.type.shape));
  if (out.tensor.num_bytes() > 0) std::memcpy(out.tensor.data(), constant.data, out.tensor.num_bytes());
  return out;
}

// Appends the elements of `view` in row-major order.
void append_dense(const TensorView& view, std::string& out) {
  const size_t element = size_of(view.type.dtype);
  const char* data = static_cast<const char*>(view.data);
  if (is_dense(view.type)) {
    out.append(data, num_bytes(view.type));
    return;
  }
  const Shape& shape = view.type.shape;
  Shape index(shape.size(), 0);
  for (int64_t left = num_elements(shape); left > 0; --left) {
    int64_t offset = 0;
    for (size_t i = 0; i < shape.size(); ++i) offset += index[i] * view.type.strides[i];
    out.append(data + offset * static_cast<int64_t>(element), element);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

std::string serialise(const std::string& name, const TensorView& view) {
  proto::TensorProto header;
  for (int64_t size : view.type.shape) header.add_dims(size);
  header.set_data_type(static_cast<int32_t>(element_type_of(view.type.dtype)));
  header.set_name(name);
  std::string out = header.SerializeAsString();
  constexpr char kRawDataTag = (proto::TensorProto::kRawDataFieldNumber << 3) | 2;
  out.push_back(kRawDataTag);
  size_t length = num_bytes(view.type);
  for (; length >= 0x80; length >>= 7) out.push_back(static_cast<char>((length & 0x7f) | 0x80));
  out.push_back(static_cast<char>(length));
  append_dense(view, out);
  return out;
}

}  // namespace

Result<NamedTensor> read_tensor_file(const std::string& path) {
  auto tensor = parse(path);
  if (!tensor) return as_input_error(tensor.take_error()).context("reading '" + path + "'");
  return tensor;
}

Status write_tensor_file(const std::string& path, const std::string& name, const TensorView& view) {
  return write_file(path, serialise(name, view));
}

}  // namespace plica::onnx
