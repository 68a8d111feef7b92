#pragma once

#include "loaders/onnx/module.h"

namespace plica::onnx {

namespace proto {
class TypeProto;
}

ValueType read_value_type(const proto::TypeProto& type);

}  // namespace plica::onnx
