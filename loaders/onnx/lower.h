#pragma once

#include <memory>
#include <variant>

#include "graph/graph.h"
#include "loaders/onnx/module.h"
#include "runtime/exec/signature.h"

namespace plica::onnx {

// All operators of the module that this build cannot lower, at once: kUnsupported with one line each: operator, domain,
// opset, names of nodes.
// Also kUnsupported where an input or output of the model is no tensor of numbers.
Status check_operators(const Module& module);

// One walk over the module for one signature: every ONNX node becomes small operators with known shapes; what depends on
// constants and shapes only is computed on the way. Where a shape depends on the value of an input that the signature
// does not hold, says which.
// Thread-safe. kInvalidModel and kInvalidInput name the node, the value found and the value wanted.
Result<std::variant<Graph, NeedsValues>> lower(const Module& module, const Signature& signature);

// The model as the executor sees it.
Source make_source(std::shared_ptr<const Module> module);

}  // namespace plica::onnx
