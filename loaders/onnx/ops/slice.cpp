#include "ops/slice.h"

#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/pad.h"
#include "ops/trilu.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

struct Range {
  int64_t axis, start, end, step;
};

// NumPy's rules: negative ends count from the end, what lies beyond is cut. Then start and size as Slice has them.
void cut(const Range& range, ops::Slice& slice) {
  const auto at = static_cast<size_t>(range.axis);
  const int64_t size = slice.sizes[at];
  const bool backwards = range.step < 0;
  const int64_t low = backwards ? -1 : 0, high = backwards ? size - 1 : size;
  const auto clamped = [&](int64_t x) { return std::clamp(x < 0 && x >= -size ? x + size : x, low, high); };
  // INT64_MIN as an end counts from the end and lies before everything.
  const int64_t start = range.start < -size ? low : clamped(range.start);
  const int64_t end = range.end < -size ? low : clamped(range.end);
  const int64_t span = backwards ? start - end : end - start;
  // Steps of the size of the numbers themselves occur; no sum here passes 64 bits.
  const uint64_t step = backwards ? -static_cast<uint64_t>(range.step) : static_cast<uint64_t>(range.step);
  const int64_t count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / step) + 1;
  slice.starts[at] = count == 0 ? 0 : start;
  slice.sizes[at] = count;
  slice.steps[at] = count <= 1 ? 1 : range.step;
}

Status give_slice(Lowering& n, const std::vector<Range>& ranges) {
  const Shape shape = n.shape(n.in(0));
  ops::Slice slice{std::vector<int64_t>(shape.size(), 0), shape, std::vector<int64_t>(shape.size(), 1)};
  for (const Range& range : ranges) {
    if (range.step == 0) return invalid_model("a step is 0, wanted another number");
    cut(range, slice);
  }
  const bool whole = slice.sizes == shape &&
                     std::all_of(slice.steps.begin(), slice.steps.end(), [](int64_t step) { return step == 1; });
  if (whole) return n.give(n.in(0));
  return n.give(n.emit_one(slice_op, std::move(slice), {n.in(0)}));
}

Status slice_with(Lowering& n, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends,
                  std::vector<int64_t> axes, std::vector<int64_t> steps) {
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return invalid_model("starts has " + std::to_string(starts.size()) + " entries, ends " +
                         std::to_string(ends.size()) + ", axes " + std::to_string(axes.size()) + ", steps " +
                         std::to_string(steps.size()) + ", wanted equal numbers");
  std::vector<Range> ranges;
  for (size_t i = 0; i < starts.size(); ++i) {
    PLICA_TRY(const int64_t axis, normalise_axis(axes[i], n.rank(n.in(0))));
    ranges.push_back({axis, starts[i], ends[i], steps[i]});
  }
  return give_slice(n, ranges);
}

Status slice_by_attributes(Lowering& n) {
  PLICA_TRY(const auto starts, ints_attribute(n.node(), "starts"));
  PLICA_TRY(const auto ends, ints_attribute(n.node(), "ends"));
  PLICA_TRY(const auto axes, ints_attribute(n.node(), "axes"));
  return slice_with(n, starts, ends, axes, {});
}

Status slice(Lowering& n) {
  PLICA_TRY(const auto starts, n.known_ints(1));
  PLICA_TRY(const auto ends, n.known_ints(2));
  std::vector<int64_t> axes, steps;
  if (n.has(3)) {
    PLICA_TRY(axes, n.known_ints(3));
  }
  if (n.has(4)) {
    PLICA_TRY(steps, n.known_ints(4));
  }
  return slice_with(n, starts, ends, std::move(axes), std::move(steps));
}

// Sizes of the parts: given, or as equal as can be (the last one smaller).
Result<std::vector<int64_t>> part_sizes(Lowering& n, int64_t size) {
  std::vector<int64_t> sizes;
  if (n.has(1)) {
    PLICA_TRY(sizes, n.known_ints(1));
  } else {
    PLICA_TRY(sizes, ints_attribute(n.node(), "split"));
  }
  if (sizes.empty()) {
    PLICA_TRY(const int64_t parts, n.attr("num_outputs", static_cast<int64_t>(n.node().outputs.size())));
    if (parts <= 0) return invalid_model("it has no outputs");
    const int64_t part = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sum != size || std::any_of(sizes.begin(), sizes.end(), [](int64_t part) { return part < 0; }))
    return invalid_model("the parts " + to_string(AttrValue(sizes)) + " add up to " + std::to_string(sum) +
                         ", wanted the axis' size " + std::to_string(size));
  return sizes;
}

Status split(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(x)));
  PLICA_TRY(const std::vector<int64_t> sizes, part_sizes(n, n.size(x, axis)));
  if (n.node().outputs.size() > sizes.size())
    return invalid_model("it has " + std::to_string(n.node().outputs.size()) + " outputs, but splits into " +
                         std::to_string(sizes.size()));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (n.wants(i)) PLICA_CHECK(n.give(i, n.slice(x, axis, start, sizes[i])));
    start += sizes[i];
  }
  return {};
}

Result<ops::PadMode> pad_mode(Lowering& n) {
  PLICA_TRY(const std::string name, string_attribute(n.node(), "mode", "constant"));
  const auto names = names_of(ops::PadMode{});
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<ops::PadMode>(i);
  return invalid_model("attribute 'mode' is '" + name + "', wanted constant, reflect, edge or wrap");
}

// `pads`: all that stand before, then all that stand after, for the axes of `axes`.
Status give_padded(Lowering& n, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes, Result<Id> value) {
  const auto rank = static_cast<size_t>(n.rank(n.in(0)));
  PLICA_TRY(const ops::PadMode mode, pad_mode(n));
  if (pads.size() != 2 * axes.size())
    return invalid_model("pads has " + std::to_string(pads.size()) + " entries, wanted two for each of " +
                         std::to_string(axes.size()) + " axes");
  ops::Pad pad{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0), mode};
  for (size_t i = 0; i < axes.size(); ++i) {
    PLICA_TRY(const int64_t axis, normalise_axis(axes[i], static_cast<int64_t>(rank)));
    pad.before[static_cast<size_t>(axis)] = pads[i];
    pad.after[static_cast<size_t>(axis)] = pads[i + axes.size()];
  }
  const auto none = [](int64_t count) { return count == 0; };
  if (std::all_of(pads.begin(), pads.end(), none)) return n.give(n.in(0));
  return n.give(n.emit_one(pad_op, std::move(pad), {n.in(0), std::move(value)}));
}

std::vector<int64_t> all_axes(Lowering& n) {
  std::vector<int64_t> axes(static_cast<size_t>(n.rank(n.in(0))));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Status pad_by_attributes(Lowering& n) {
  PLICA_TRY(const auto pads, ints_attribute(n.node(), "pads"));
  PLICA_TRY(const double value, n.real("value", 0));
  return give_padded(n, pads, all_axes(n), value == 0 ? Result<Id>(kNone) : n.scalar_like(value, n.in(0)));
}

Status pad(Lowering& n) {
  PLICA_TRY(const auto pads, n.known_ints(1));
  std::vector<int64_t> axes = all_axes(n);
  if (n.has(3)) {
    PLICA_TRY(axes, n.known_ints(3));
  }
  return give_padded(n, pads, axes, n.has(2) ? n.reshape(n.in(2), {}) : Result<Id>(kNone));
}

Status trilu(Lowering& n) {
  PLICA_TRY(const bool upper, n.flag("upper", true));
  int64_t k = 0;
  if (n.has(1)) {
    PLICA_TRY(const auto diagonal, n.known_ints(1));
    if (diagonal.size() == 1) k = diagonal.front();
  }
  return n.give(n.emit_one(trilu_op, ops::Trilu{upper, k}, {n.in(0)}));
}

constexpr OpRow kRows[] = {
    {"Pad", 2, 1, pad_by_attributes}, {"Pad", 11, 2, pad},    {"Slice", 1, 1, slice_by_attributes},
    {"Slice", 10, 3, slice},          {"Split", 2, 1, split}, {"Trilu", 14, 1, trilu},
};

}  // namespace

std::span<const OpRow> slice_rows() { return kRows; }

}  // namespace plica::onnx
