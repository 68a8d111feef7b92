#pragma once

#include <vector>

#include "loaders/onnx/lowering.h"

namespace plica::onnx {

// A window that slides over the spatial axes (2 and on) of x (N, C, ...): of convolutions and pools.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> before, after;  // elements of padding
  Shape out;                           // how often it is applied, an axis

  int64_t extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  int64_t num_taps() const { return num_elements(kernel); }
};

// The window of the node (strides, dilations, pads, auto_pad, ceil_mode) on x.
Result<Window> window_of(Lowering& n, Id x, std::vector<int64_t> kernel);

// x with its padding, and as many elements more as the last application reaches; `fill` is a scalar.
Result<Id> padded(Emitter& n, Id x, const Window& window, Result<Id> fill);

// What each place of the kernel sees, in row-major order: a view (N, C, out...) of the padded x.
Result<Ids> taps(Emitter& n, Id padded, const Window& window);

// x (N, C, ...) convolved with w (M, C / groups, kernel...), in their common dtype.
Result<Id> convolve(Emitter& n, Id x, Id w, const Window& window, int64_t groups);

}  // namespace plica::onnx
