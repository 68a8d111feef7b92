#include "loaders/onnx/value_type.h"

#include "loaders/onnx/element_type.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"

namespace plica::onnx {

ValueType read_value_type(const proto::TypeProto& type) {
  ValueType out;
  switch (type.value_case()) {
    case proto::TypeProto::kTensorType: break;
    case proto::TypeProto::kSequenceType: out.kind = "sequence"; return out;
    case proto::TypeProto::kMapType: out.kind = "map"; return out;
    case proto::TypeProto::kOptionalType: out.kind = "optional"; return out;
    case proto::TypeProto::kSparseTensorType: out.kind = "sparse tensor"; return out;
    case proto::TypeProto::kOpaqueType: out.kind = "opaque"; return out;
    case proto::TypeProto::VALUE_NOT_SET: out.kind = ""; return out;
  }
  const auto& tensor = type.tensor_type();
  const auto dtype = dtype_of(tensor.elem_type());
  out.known_dtype = dtype.has_value();
  if (dtype) out.dtype = *dtype;
  out.dtype_name = name_of_element_type(tensor.elem_type());
  out.ranked = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim()) {
    Dim& to = out.dims.emplace_back();
    if (dim.value_case() == proto::TensorShapeProto::Dimension::kDimValue && dim.dim_value() >= 0)
      to.size = dim.dim_value();
    if (dim.value_case() == proto::TensorShapeProto::Dimension::kDimParam) to.name = dim.dim_param();
  }
  return out;
}

}  // namespace plica::onnx
