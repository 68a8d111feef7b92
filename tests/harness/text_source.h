#pragma once

#include <string>

#include "runtime/exec/signature.h"

namespace plica {

// A model whose graph is text in the graph notation with free sizes in braces, which its inputs name:
//   input x: f32 {B}x{L}x32
//   y = Reshape(x) {shape=[{B*L},32]}
// A size in braces may be a product. Constants are the same whatever the sizes.
Source text_source(std::string text);

}  // namespace plica
