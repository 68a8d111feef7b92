#pragma once

#include <vector>

#include "loaders/onnx/module.h"

namespace plica::onnx {

// Drops the nodes that no output needs, in bodies too, and counts them. Returns, for each of module.constants, whether a
// node that stays or a graph output uses it.
std::vector<bool> prune(Module& module);

}  // namespace plica::onnx
