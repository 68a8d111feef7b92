#include "loaders/onnx/ops/window.h"

#include <algorithm>
#include <cstdlib>

#include "ops/pad.h"
#include "ops/slice.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

Result<std::vector<int64_t>> one_an_axis(Lowering& n, std::string_view name, size_t count, int64_t absent) {
  PLICA_TRY(std::vector<int64_t> found, ints_attribute(n.node(), name, std::vector<int64_t>(count, absent)));
  if (found.size() == count) return found;
  return invalid_model("attribute '" + std::string(name) + "' has " + std::to_string(found.size()) +
                       " entries, wanted " + std::to_string(count));
}

// As many applications as there are steps in x, the padding around it.
void pad_to_same(Window& window, const Shape& x, bool upper) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t size = x[i + 2], out = (size + window.strides[i] - 1) / window.strides[i];
    const int64_t total = std::max<int64_t>(0, (out - 1) * window.strides[i] + window.extent(i) - size);
    window.before[i] = upper ? total / 2 : total - total / 2;
    window.after[i] = total - window.before[i];
  }
}

Status read_padding(Lowering& n, const Shape& x, Window& window) {
  const size_t count = window.kernel.size();
  PLICA_TRY(const std::string mode, string_attribute(n.node(), "auto_pad", "NOTSET"));
  PLICA_TRY(const auto pads, one_an_axis(n, "pads", 2 * count, 0));
  window.before.assign(count, 0);
  window.after.assign(count, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_to_same(window, x, mode == "SAME_UPPER");
  } else if (mode == "NOTSET" || mode.empty()) {
    window.before.assign(pads.begin(), pads.begin() + static_cast<int64_t>(count));
    window.after.assign(pads.begin() + static_cast<int64_t>(count), pads.end());
    for (const int64_t pad : pads)
      if (std::abs(pad) > (int64_t{1} << 24)) return invalid_model("padding of " + std::to_string(pad) + " elements");
  } else if (mode != "VALID") {
    return invalid_model("attribute 'auto_pad' is '" + mode + "', wanted NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  return {};
}

}  // namespace

Result<Window> window_of(Lowering& n, Id x, std::vector<int64_t> kernel) {
  const Shape shape = n.shape(x);
  if (shape.size() != kernel.size() + 2 || std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1; }))
    return invalid_model("the input is " + to_string(shape) + ", the kernel " + to_string(kernel) +
                         ", wanted a kernel size for each axis behind batch and channels");
  constexpr int64_t kMaxTaps = 8192, kMaxReach = int64_t{1} << 24;
  int64_t num_taps = 1;
  for (const int64_t size : kernel) num_taps = std::min(num_taps * std::min(size, kMaxTaps + 1), kMaxTaps + 1);
  if (kernel.size() > 4 || num_taps > kMaxTaps)
    return unsupported("a kernel of " + to_string(kernel) + ", wanted at most 4 axes and " + std::to_string(kMaxTaps) +
                       " elements");
  Window window;
  window.kernel = std::move(kernel);
  const size_t count = window.kernel.size();
  PLICA_TRY(window.strides, one_an_axis(n, "strides", count, 1));
  PLICA_TRY(window.dilations, one_an_axis(n, "dilations", count, 1));
  for (size_t i = 0; i < count; ++i)
    if (window.strides[i] < 1 || window.dilations[i] < 1 ||
        std::max(window.strides[i], window.dilations[i]) > kMaxReach)
      return invalid_model("a stride or dilation is not from 1 to " + std::to_string(kMaxReach));
  PLICA_CHECK(read_padding(n, shape, window));
  PLICA_TRY(const bool ceil, n.flag("ceil_mode", false));
  for (size_t i = 0; i < count; ++i) {
    const int64_t room = shape[i + 2] + window.before[i] + window.after[i] - window.extent(i);
    int64_t out = room < 0 ? 0 : (room + (ceil ? window.strides[i] - 1 : 0)) / window.strides[i] + 1;
    // The last application has to begin in x or the padding before it.
    if (ceil && out > 0 && (out - 1) * window.strides[i] >= shape[i + 2] + window.before[i]) --out;
    window.out.push_back(out);
  }
  return window;
}

Result<Id> padded(Emitter& n, Id x, const Window& window, Result<Id> fill) {
  ops::Pad pad{{0, 0}, {0, 0}};
  bool any = false;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t reach = (window.out[i] - 1) * window.strides[i] + window.extent(i);
    pad.before.push_back(window.before[i]);
    pad.after.push_back(std::max(window.after[i], reach - window.before[i] - n.size(x, static_cast<int64_t>(i) + 2)));
    any = any || pad.before.back() != 0 || pad.after.back() != 0;
  }
  if (!any) return x;
  return n.emit_one(pad_op, std::move(pad), {x, std::move(fill)});
}

Result<Ids> taps(Emitter& n, Id padded, const Window& window) {
  const size_t count = window.kernel.size();
  ops::Slice slice{std::vector<int64_t>(count + 2, 0), {n.size(padded, 0), n.size(padded, 1)}, {1, 1}};
  slice.sizes.insert(slice.sizes.end(), window.out.begin(), window.out.end());
  slice.steps.insert(slice.steps.end(), window.strides.begin(), window.strides.end());
  Ids found;
  std::vector<int64_t> place(count, 0);
  for (int64_t left = window.num_taps(); left > 0; --left) {
    for (size_t i = 0; i < count; ++i) slice.starts[i + 2] = place[i] * window.dilations[i];
    PLICA_TRY(found.emplace_back(), n.emit_one(slice_op, slice, {padded}));
    for (size_t i = count; i-- > 0;) {
      if (++place[i] < window.kernel[i]) break;
      place[i] = 0;
    }
  }
  return found;
}

// One matrix product: the taps side by side are the columns, a row of w is a filter.
Result<Id> convolve(Emitter& n, Id x, Id w, const Window& window, int64_t groups) {
  const int64_t batches = n.size(x, 0), channels = n.size(x, 1), filters = n.size(w, 0);
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 || n.size(w, 1) != channels / groups)
    return invalid_model("the input is " + to_string(n.shape(x)) + ", the weight " + to_string(n.shape(w)) + " in " +
                         std::to_string(groups) + " groups");
  PLICA_TRY(const Id wide, padded(n, x, window, n.scalar_like(0, x)));
  PLICA_TRY(Ids columns, taps(n, wide, window));
  const int64_t places = num_elements(window.out), width = channels / groups * window.num_taps();
  for (Id& column : columns) {
    PLICA_TRY(column, n.reshape(column, {batches, channels, 1, places}));
  }
  const Result<Id> right = n.reshape(n.concat(std::move(columns), 2), {batches, groups, width, places});
  const Result<Id> left = n.reshape(w, {groups, filters / groups, width});
  Shape out{batches, filters};
  out.insert(out.end(), window.out.begin(), window.out.end());
  return n.reshape(n.mat_mul(left, right), std::move(out));
}

}  // namespace plica::onnx
