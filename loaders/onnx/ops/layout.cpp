#include <algorithm>
#include <functional>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

int64_t product(const Shape& shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t i = begin; i < end; ++i) count *= shape[i];
  return count;
}

// The sizes, whatever the value: what hangs on a shape hangs on no value.
Status shape_op(Lowering& n) {
  const Shape shape = n.shape(n.in(0));
  const auto rank = static_cast<int64_t>(shape.size());
  PLICA_TRY(int64_t start, n.attr("start", 0));
  PLICA_TRY(int64_t end, n.attr("end", rank));
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  return n.give(n.int64s({shape.begin() + start, shape.begin() + end}));
}

Status size_op(Lowering& n) {
  return n.give(n.scalar(static_cast<double>(num_elements(n.shape(n.in(0)))), DType::kI64));
}

Error does_not_fit(const Shape& from, const Shape& to) {
  return Error(Code::kInvalidInput,
               "cannot see " + to_string(from) + " (" + std::to_string(num_elements(from)) + " elements) as " +
                   to_string(to) +
                   ": sizes that do not follow the input's are fixed by the export; export from a fresh model");
}

// `wanted` with 0 (copied from x, unless allow_zero) and one -1 (inferred) resolved.
Result<Shape> resolved(const Shape& from, Shape wanted, bool allow_zero) {
  Shape given = wanted;
  for (int64_t& size : given) size = size == -1 ? 1 : size;
  PLICA_CHECK(check_shape(given));
  int64_t known = 1;
  auto free = wanted.end();
  for (auto size = wanted.begin(); size != wanted.end(); ++size) {
    const auto axis = static_cast<size_t>(size - wanted.begin());
    if (*size == 0 && !allow_zero) {
      if (axis >= from.size())
        return invalid_model("size 0 at axis " + std::to_string(axis) + " copies from a shape of " +
                             std::to_string(from.size()) + " axes");
      *size = from[axis];
    }
    if (*size < -1 || (*size == -1 && free != wanted.end()))
      return invalid_model("wanted shape " + to_string(wanted) + " has more than one free size, or a negative one");
    if (*size == -1)
      free = size;
    else
      known *= *size;
  }
  const int64_t count = num_elements(from);
  if (free != wanted.end()) {
    if (known == 0 ? count != 0 : count % known != 0) return does_not_fit(from, wanted);
    *free = known == 0 ? 0 : count / known;
  }
  if (num_elements(wanted) != count) return does_not_fit(from, wanted);
  return wanted;
}

Status reshape(Lowering& n) {
  PLICA_TRY(Shape wanted, n.known_ints(1));
  PLICA_TRY(const bool allow_zero, n.flag("allowzero", false));
  PLICA_TRY(Shape to, resolved(n.shape(n.in(0)), std::move(wanted), allow_zero));
  return n.give(n.reshape(n.in(0), std::move(to)));
}

Status flatten(Lowering& n) {
  const Shape shape = n.shape(n.in(0));
  PLICA_TRY(int64_t axis, n.attr("axis", 1));
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis > rank)
    return invalid_model("attribute 'axis' is " + std::to_string(axis) + ", wanted within the rank " +
                         std::to_string(rank));
  if (axis < 0) axis += rank;
  const auto at = static_cast<size_t>(axis);
  return n.give(n.reshape(n.in(0), {product(shape, 0, at), product(shape, at, shape.size())}));
}

Status squeeze(Lowering& n) {
  const Shape shape = n.shape(n.in(0));
  PLICA_TRY(const std::vector<int64_t> axes, n.axes_of(1, n.rank(n.in(0))));
  const bool all = !n.has(1) && n.node().find("axes") == nullptr;
  Shape to;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (named && shape[i] != 1)
      return invalid_model("axis " + std::to_string(i) + " of " + to_string(shape) + " is not of size 1");
    if (!named && !(all && shape[i] == 1)) to.push_back(shape[i]);
  }
  return n.give(n.reshape(n.in(0), std::move(to)));
}

Status unsqueeze(Lowering& n) {
  Shape shape = n.shape(n.in(0));
  std::vector<int64_t> raw;
  if (n.has(1)) {
    PLICA_TRY(raw, n.known_ints(1));
  } else {
    PLICA_TRY(raw, ints_attribute(n.node(), "axes"));
  }
  PLICA_TRY(const std::vector<int64_t> axes, n.axes_of(1, n.rank(n.in(0)) + static_cast<int64_t>(raw.size())));
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return n.give(n.reshape(n.in(0), std::move(shape)));
}

Status transpose(Lowering& n) {
  const int64_t rank = n.rank(n.in(0));
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) reversed[static_cast<size_t>(i)] = rank - 1 - i;
  PLICA_TRY(std::vector<int64_t> perm, ints_attribute(n.node(), "perm", reversed));
  for (int64_t& axis : perm) {
    PLICA_TRY(axis, normalise_axis(axis, rank));
  }
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (std::reverse(reversed.begin(), reversed.end()); sorted != reversed)
    return invalid_model("attribute 'perm' is " + to_string(AttrValue(perm)) + ", wanted a permutation of " +
                         std::to_string(rank) + " axes");
  return n.give(n.transpose(n.in(0), std::move(perm)));
}

Status expand(Lowering& n) {
  PLICA_TRY(const Shape wanted, n.known_ints(1));
  PLICA_CHECK(check_shape(wanted));
  PLICA_TRY(Shape to, broadcast(n.shape(n.in(0)), wanted));
  return n.give(n.expand(n.in(0), std::move(to)));
}

// x [a, b] tiled [r, s]: seen as [1, a, 1, b], expanded to [r, a, s, b], seen as [r a, s b].
Status tile(Lowering& n) {
  const Shape shape = n.shape(n.in(0));
  PLICA_TRY(const std::vector<int64_t> repeats, n.known_ints(1));
  if (repeats.size() != shape.size())
    return invalid_model("repeats has " + std::to_string(repeats.size()) + " entries, wanted one an axis of " +
                         to_string(shape));
  Shape apart, wide, to;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] != 1) {
      apart.push_back(1);
      wide.push_back(repeats[i]);
    }
    apart.push_back(shape[i]);
    wide.push_back(shape[i]);
  }
  PLICA_CHECK(check_shape(wide));
  for (size_t i = 0; i < shape.size(); ++i) to.push_back(shape[i] * repeats[i]);
  return n.give(n.reshape(n.expand(n.reshape(n.in(0), apart), wide), to));
}

// An input of no elements along the axis adds nothing; one input needs no operator.
Status concat(Lowering& n) {
  PLICA_TRY(const int64_t axis, n.axis("axis", 1, n.rank(n.in(0))));
  Ids parts;
  for (size_t i = 0; i < n.num_inputs(); ++i) {
    if (!n.has(i)) return invalid_model("input " + std::to_string(i) + " is absent");
    if (n.rank(n.in(i)) != n.rank(n.in(0)))
      return invalid_model("input " + std::to_string(i) + " is " + to_string(n.shape(n.in(i))) +
                           ", wanted the rank of input 0, which is " + to_string(n.shape(n.in(0))));
    if (n.size(n.in(i), axis) != 0) parts.push_back(n.in(i));
  }
  if (parts.empty()) parts.push_back(n.in(0));
  return n.give(n.concat(std::move(parts), axis));
}

constexpr OpRow kRows[] = {
    {"Concat", 4, 1, concat},       {"Expand", 8, 2, expand},  {"Flatten", 1, 1, flatten},
    {"Reshape", 5, 2, reshape},     {"Shape", 1, 1, shape_op}, {"Size", 1, 1, size_op},
    {"Squeeze", 1, 1, squeeze},     {"Tile", 6, 2, tile},      {"Transpose", 1, 1, transpose},
    {"Unsqueeze", 1, 1, unsqueeze},
};

}  // namespace

std::span<const OpRow> layout_rows() { return kRows; }

}  // namespace plica::onnx
