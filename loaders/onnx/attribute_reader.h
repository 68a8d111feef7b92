#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "loaders/onnx/module.h"

namespace plica::onnx {

namespace proto {
class AttributeProto;
class FunctionProto;
class NodeProto;
class TensorProto;
}  // namespace proto

// An attribute after references of a function's body to the attributes of its call are followed.
struct BoundAttribute {
  const proto::AttributeProto* value = nullptr;  // null: the call does not have it
  const void* frame = nullptr;                   // where a graph in it sees its outer values; null: where it stands
};

// What the references in one call of a function mean.
using AttributeBindings = std::unordered_map<std::string_view, BoundAttribute>;

// kInvalidModel for a reference outside a function (`bindings` is null).
Result<BoundAttribute> resolve(const proto::AttributeProto& attribute, const AttributeBindings* bindings);

// The call's attributes, else the function's defaults. `outer` are the bindings where the call stands, `frame` its names.
Result<AttributeBindings> bind_attributes(const proto::FunctionProto& function, const proto::NodeProto& call,
                                          const AttributeBindings* outer, const void* frame);

// The attribute's AttributeProto::AttributeType; found out from its fields in old files that do not say it.
int type_of(const proto::AttributeProto& attribute);

// The value of an attribute that is neither tensor nor graph; kInvalidModel where it has none.
Result<AttributeValue> plain_value(const proto::AttributeProto& attribute);

// The tensor that a Constant node makes of its attribute `name`: value_float, value_ints, value_string ...
Result<std::unique_ptr<proto::TensorProto>> make_tensor(const proto::AttributeProto& attribute,
                                                        const std::string& name);

}  // namespace plica::onnx
