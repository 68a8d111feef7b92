#include "loaders/onnx/attribute_reader.h"

#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "runtime/core/result.h"

namespace plica::onnx {

using proto::AttributeProto;

Result<BoundAttribute> resolve(const AttributeProto& attribute, const AttributeBindings* bindings) {
  const std::string& target = attribute.ref_attr_name();
  if (target.empty()) return BoundAttribute{&attribute, nullptr};
  if (bindings == nullptr)
    return Error(Code::kInvalidModel,
                 "attribute '" + attribute.name() + "' refers to '" + target + "' of a function, but stands in none");
  const auto at = bindings->find(target);
  return at == bindings->end() ? BoundAttribute{} : at->second;
}

Result<AttributeBindings> bind_attributes(const proto::FunctionProto& function, const proto::NodeProto& call,
                                          const AttributeBindings* outer, const void* frame) {
  AttributeBindings bindings;
  for (const auto& attribute : call.attribute()) {
    PLICA_TRY(BoundAttribute bound, resolve(attribute, outer));
    if (bound.value == nullptr) continue;
    if (bound.frame == nullptr) bound.frame = frame;
    bindings.emplace(attribute.name(), bound);
  }
  for (const auto& attribute : function.attribute_proto())
    bindings.emplace(attribute.name(), BoundAttribute{&attribute, nullptr});
  return bindings;
}

int type_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

Result<AttributeValue> plain_value(const AttributeProto& attribute) {
  switch (type_of(attribute)) {
    case AttributeProto::FLOAT: return AttributeValue(attribute.f());
    case AttributeProto::INT: return AttributeValue(static_cast<int64_t>(attribute.i()));
    case AttributeProto::STRING: return AttributeValue(attribute.s());
    case AttributeProto::FLOATS:
      return AttributeValue(std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
    case AttributeProto::TENSORS: return AttributeValue(UnreadAttribute{"tensors"});
    case AttributeProto::GRAPHS: return AttributeValue(UnreadAttribute{"graphs"});
    case AttributeProto::SPARSE_TENSOR: return AttributeValue(UnreadAttribute{"sparse tensor"});
    case AttributeProto::SPARSE_TENSORS: return AttributeValue(UnreadAttribute{"sparse tensors"});
    case AttributeProto::TYPE_PROTO: return AttributeValue(UnreadAttribute{"type"});
    case AttributeProto::TYPE_PROTOS: return AttributeValue(UnreadAttribute{"types"});
    default: return Error(Code::kInvalidModel, "attribute '" + attribute.name() + "' has no type and no value");
  }
}

Result<std::unique_ptr<proto::TensorProto>> make_tensor(const AttributeProto& attribute, const std::string& name) {
  auto tensor = std::make_unique<proto::TensorProto>();
  if (name == "value_float" || name == "value_floats") {
    tensor->set_data_type(proto::TensorProto::FLOAT);
    *tensor->mutable_float_data() = attribute.floats();
    if (name == "value_float") tensor->add_float_data(attribute.f());
  } else if (name == "value_int" || name == "value_ints") {
    tensor->set_data_type(proto::TensorProto::INT64);
    *tensor->mutable_int64_data() = attribute.ints();
    if (name == "value_int") tensor->add_int64_data(attribute.i());
  } else if (name == "value_string" || name == "value_strings") {
    tensor->set_data_type(proto::TensorProto::STRING);
  } else {
    return Error(Code::kInvalidModel,
                 "attribute '" + name + "' holds no value, wanted value, value_int, value_floats ...");
  }
  if (name == "value_floats") tensor->add_dims(attribute.floats_size());
  if (name == "value_ints") tensor->add_dims(attribute.ints_size());
  if (name == "value_strings") tensor->add_dims(attribute.strings_size());
  return tensor;
}

}  // namespace plica::onnx
