#include "ops/view.h"

#include "ops/expand.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

View transposed(const ops::Transpose& op, const TensorType& x) {
  Strides storage;
  const Strides& own = strides_of(x, storage);
  View view{x, 0};
  view.type.strides.resize(own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    view.type.shape[i] = x.shape[static_cast<size_t>(op.perm[i])];
    view.type.strides[i] = own[static_cast<size_t>(op.perm[i])];
  }
  return view;
}

View sliced(const ops::Slice& op, const TensorType& x) {
  Strides storage;
  View view{{x.dtype, op.sizes, strides_of(x, storage)}, 0};
  const bool empty = num_elements(op.sizes) == 0;
  for (size_t i = 0; i < op.sizes.size(); ++i) {
    if (!empty) view.offset += op.starts[i] * view.type.strides[i];
    view.type.strides[i] *= op.steps[i];
  }
  return view;
}

}  // namespace

TensorType normalised(TensorType type) {
  if (!type.strides.empty() && is_dense(type)) type.strides.clear();
  return type;
}

std::optional<View> view_through(const OpDef& op, const Attrs& attrs, const TensorType& x) {
  View view;
  if (&op == &reshape_op) {
    const Shape& shape = attrs.as<ops::Reshape>().shape;
    std::optional<Strides> strides = reshape_strides(x, shape);
    if (!strides) return std::nullopt;
    view.type = {x.dtype, shape, *std::move(strides)};
  } else if (&op == &transpose_op) {
    view = transposed(attrs.as<ops::Transpose>(), x);
  } else if (&op == &slice_op) {
    view = sliced(attrs.as<ops::Slice>(), x);
  } else {
    const Shape& shape = attrs.as<ops::Expand>().shape;
    view.type = {x.dtype, shape, broadcast_strides(x, shape)};
  }
  view.type = normalised(std::move(view.type));
  return view;
}

}  // namespace plica
