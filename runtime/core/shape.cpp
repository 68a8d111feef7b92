#include "runtime/core/shape.h"

namespace plica {

std::string to_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i) text.append(i ? "x" : "").append(std::to_string(shape[i]));
  return text;
}

std::string to_string(const TensorType& type) {
  std::string text(name_of(type.dtype));
  return text.append(" ").append(to_string(type.shape));
}

int64_t num_elements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

const Strides& strides_of(const TensorType& type, Strides& storage) {
  if (!type.strides.empty() || type.shape.empty()) return type.strides;
  return storage = dense_strides(type.shape);
}

bool is_dense(const TensorType& type) {
  if (type.strides.empty()) return true;
  int64_t step = 1;
  for (size_t i = type.shape.size(); i-- > 0;) {
    if (type.shape[i] != 1 && type.strides[i] != step) return num_elements(type.shape) == 0;
    step *= type.shape[i];
  }
  return true;
}

int64_t num_rows(const Shape& shape) {
  int64_t n = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) n *= shape[i];
  return n;
}

size_t num_bytes(const TensorType& type) { return static_cast<size_t>(num_elements(type.shape)) * size_of(type.dtype); }

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = out[i + shift];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1)
      return Error(Code::kInvalidModel, "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    size = shorter[i];
  }
  return out;
}

Strides broadcast_strides(const TensorType& type, const Shape& shape) {
  Strides storage, out(shape.size(), 0);
  const Strides& own = strides_of(type, storage);
  const size_t shift = shape.size() - type.shape.size();
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (type.shape[i] == shape[i + shift]) out[i + shift] = own[i];
  return out;
}

Result<int64_t> normalise_axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return Error(Code::kInvalidModel, "axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
}

std::optional<Strides> reshape_strides(const TensorType& type, const Shape& shape) {
  if (is_dense(type)) return dense_strides(shape);
  // Merge the old axes into runs that are contiguous among themselves, then split each run into new axes.
  Shape sizes;
  Strides steps;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (type.shape[i] == 1) continue;
    if (!sizes.empty() && steps.back() == type.strides[i] * type.shape[i]) {
      sizes.back() *= type.shape[i];
      steps.back() = type.strides[i];
    } else {
      sizes.push_back(type.shape[i]);
      steps.push_back(type.strides[i]);
    }
  }
  Strides out(shape.size(), 0);
  size_t run = sizes.size();
  int64_t left = 1, step = 0;  // elements of the current run not yet given to a new axis
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (left == 1) {
      if (run == 0) return std::nullopt;
      --run;
      left = sizes[run];
      step = steps[run];
    }
    if (left % shape[i] != 0) return std::nullopt;
    out[i] = step;
    step *= shape[i];
    left /= shape[i];
  }
  return out;
}

}  // namespace plica
