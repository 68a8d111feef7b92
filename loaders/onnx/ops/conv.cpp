#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "loaders/onnx/ops/window.h"
#include "ops/pad.h"
#include "ops/slice.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

// y + a bias a channel, where there is one.
Result<Id> with_bias(Lowering& n, Result<Id> y, Id bias) {
  if (!y || bias == kNone) return y;
  Shape shape(static_cast<size_t>(n.rank(*y)), 1);
  shape[1] = num_elements(n.shape(bias));
  return n.add(y, n.reshape(bias, std::move(shape)));
}

Result<Window> window_on(Lowering& n, Id x, Id w) {
  const Shape shape = n.shape(w);
  if (shape.size() < 3) return invalid_model("the weight is " + to_string(shape) + ", wanted three axes or more");
  return window_of(n, x, {shape.begin() + 2, shape.end()});
}

Status conv(Lowering& n) {
  PLICA_TRY(const Window window, window_on(n, n.in(0), n.in(1)));
  PLICA_TRY(const int64_t groups, n.attr("group", 1));
  return n.give(with_bias(n, convolve(n, n.in(0), n.in(1), window, groups), n.in(2)));
}

// x with stride - 1 zeros between neighbours.
Result<Id> spread(Lowering& n, Id x, const std::vector<int64_t>& strides) {
  Result<Id> y = x;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t size = n.size(x, static_cast<int64_t>(i) + 2), stride = strides[i];
    if (stride == 1 || size == 0 || !y) continue;
    Shape split = n.shape(*y);
    split.insert(split.begin() + static_cast<int64_t>(i) + 3, 1);
    ops::Pad pad{std::vector<int64_t>(split.size(), 0), std::vector<int64_t>(split.size(), 0)};
    pad.after[i + 3] = stride - 1;
    Shape merged = n.shape(*y);
    merged[i + 2] = size * stride;
    y = n.reshape(n.emit_one(pad_op, std::move(pad), {n.reshape(y, std::move(split)), kNone}), std::move(merged));
    y = n.slice(y, static_cast<int64_t>(i) + 2, 0, (size - 1) * stride + 1);
  }
  return y;
}

// w (C, M / groups, kernel...) as the weight of a convolution: (M, C / groups, kernel... backwards).
Result<Id> transposed_weight(Lowering& n, Id w, int64_t groups) {
  const Shape shape = n.shape(w);
  const int64_t inputs = shape[0] / groups, outputs = shape[1];
  ops::Slice flip{std::vector<int64_t>(shape.size(), 0), shape, std::vector<int64_t>(shape.size(), 1)};
  for (size_t i = 2; i < shape.size(); ++i) {
    flip.starts[i] = shape[i] - 1;
    flip.steps[i] = -1;
  }
  Shape split{groups, inputs, outputs}, merged{groups * outputs, inputs};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  merged.insert(merged.end(), shape.begin() + 2, shape.end());
  std::vector<int64_t> perm(split.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  return n.reshape(
      n.transpose(n.reshape(n.emit_one(slice_op, std::move(flip), {w}), std::move(split)), std::move(perm)),
      std::move(merged));
}

// What a convolution has as padding, from the transposed one's pads, output_padding and output_shape.
Status pad_transposed(Lowering& n, Id x, Window& window) {
  const size_t count = window.kernel.size();
  PLICA_TRY(const auto extra, ints_attribute(n.node(), "output_padding", std::vector<int64_t>(count, 0)));
  PLICA_TRY(const auto wanted, ints_attribute(n.node(), "output_shape"));
  PLICA_TRY(const std::string mode, string_attribute(n.node(), "auto_pad", "NOTSET"));
  if (extra.size() != count || (!wanted.empty() && wanted.size() < count))
    return invalid_model("output_padding or output_shape has not an entry for each axis");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = n.size(x, static_cast<int64_t>(i) + 2),
                  full = (size - 1) * window.strides[i] + extra[i] + window.extent(i);
    if (same || !wanted.empty()) {
      const int64_t target = wanted.empty() ? size * window.strides[i] : wanted[wanted.size() - count + i];
      const int64_t total = full - target, half = total >> 1;
      window.before[i] = mode == "SAME_UPPER" ? half : total - half;
      window.after[i] = total - window.before[i];
    }
    window.out[i] = full - window.before[i] - window.after[i];
    window.before[i] = window.extent(i) - 1 - window.before[i];
    window.after[i] = window.extent(i) - 1 - window.after[i] + extra[i];
    window.strides[i] = 1;
    if (window.out[i] < 0) return invalid_model("the padding is larger than the result");
  }
  return {};
}

Status conv_transpose(Lowering& n) {
  const Id x = n.in(0), w = n.in(1);
  PLICA_TRY(Window window, window_on(n, x, w));
  PLICA_TRY(const int64_t groups, n.attr("group", 1));
  if (groups < 1 || n.size(w, 0) % groups != 0)
    return invalid_model("the weight is " + to_string(n.shape(w)) + ", it has no " + std::to_string(groups) +
                         " groups");
  PLICA_TRY(const Id wide, spread(n, x, window.strides));
  PLICA_CHECK(pad_transposed(n, x, window));
  PLICA_TRY(const Id weight, transposed_weight(n, w, groups));
  return n.give(with_bias(n, convolve(n, wide, weight, window, groups), n.in(2)));
}

constexpr OpRow kRows[] = {
    {"Conv", 1, 2, conv},
    {"ConvTranspose", 1, 2, conv_transpose},
};

}  // namespace

std::span<const OpRow> conv_rows() { return kRows; }

}  // namespace plica::onnx
