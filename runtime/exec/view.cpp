#include "runtime/exec/view.h"

#include "ops/expand.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

void transpose(const ops::Transpose& op, Place& place) {
  Strides storage;
  const Strides own = strides_of(place.type, storage);
  const Shape shape = place.type.shape;
  place.type.strides.resize(own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    place.type.shape[i] = shape[static_cast<size_t>(op.perm[i])];
    place.type.strides[i] = own[static_cast<size_t>(op.perm[i])];
  }
}

void slice(const ops::Slice& op, Place& place) {
  Strides strides, storage;
  strides = strides_of(place.type, storage);
  const auto element = static_cast<int64_t>(size_of(place.type.dtype));
  const bool empty = num_elements(op.sizes) == 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (!empty) place.offset_bytes += op.starts[i] * strides[i] * element;
    strides[i] *= op.steps[i];
  }
  place.type = {place.type.dtype, op.sizes, std::move(strides)};
}

}  // namespace

TensorType normalised(TensorType type) {
  if (!type.strides.empty() && is_dense(type)) type.strides.clear();
  return type;
}

std::optional<Place> view_of(const Node& node, const Place& base) {
  Place place = base;
  if (node.op == &reshape_op) {
    const Shape& shape = node.attrs.as<ops::Reshape>().shape;
    std::optional<Strides> strides = reshape_strides(base.type, shape);
    if (!strides) return std::nullopt;
    place.type = {base.type.dtype, shape, *std::move(strides)};
  } else if (node.op == &transpose_op) {
    transpose(node.attrs.as<ops::Transpose>(), place);
  } else if (node.op == &slice_op) {
    slice(node.attrs.as<ops::Slice>(), place);
  } else {
    const Shape& shape = node.attrs.as<ops::Expand>().shape;
    place.type = {base.type.dtype, shape, broadcast_strides(base.type, shape)};
  }
  place.type = normalised(std::move(place.type));
  return place;
}

}  // namespace plica
