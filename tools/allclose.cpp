#include "tools/allclose.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "loaders/array/npy.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

template <class T>
double widen(T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    return to_float(value);
  } else {
    return static_cast<double>(value);
  }
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string place_of(int64_t index, const Shape& shape) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis])
    text.insert(0, std::to_string(index % shape[axis]) + (text.empty() ? "" : ", "));
  return "[" + text + "]";
}

template <class T>
void compare_elements(const T* found, const T* wanted, const Shape& shape, const Tolerance& tolerance,
                      Difference& out) {
  const int64_t count = num_elements(shape);
  int64_t num_outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double a = widen(found[i]);
    const double b = widen(wanted[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double difference = std::abs(a - b);
    const bool within =
        std::isfinite(a) && std::isfinite(b) && difference <= tolerance.absolute + tolerance.relative * std::abs(b);
    out.largest = std::isnan(difference) ? INFINITY : std::max(out.largest, difference);
    out.relative = std::isnan(difference) ? INFINITY : std::max(out.relative, difference / (1 + std::abs(b)));
    if (!within && num_outside++ == 0)
      out.sentence = "at " + place_of(i, shape) + " found " + number(a) + ", wanted " + number(b);
  }
  if (num_outside == 0) return;
  out.within = false;
  out.sentence += "; " + std::to_string(num_outside) + " of " + std::to_string(count) +
                  " elements differ, at most by " + number(out.largest);
}

Difference differ(std::string why) { return {false, INFINITY, INFINITY, std::move(why)}; }

// The view itself where it is dense, else a dense copy of it in `storage`.
const void* dense(const TensorView& view, Tensor& storage) {
  if (is_dense(view.type)) return view.data;
  auto copy = dense_copy(view);
  if (!copy) return nullptr;
  storage = *std::move(copy);
  return storage.data();
}

}  // namespace

Difference compare(const TensorView& found, const TensorView& wanted, const Tolerance& tolerance) {
  if (found.type.dtype != wanted.type.dtype || found.type.shape != wanted.type.shape)
    return differ("found " + to_string(found.type) + ", wanted " + to_string(wanted.type));
  Tensor found_storage;
  Tensor wanted_storage;
  const void* a = dense(found, found_storage);
  const void* b = dense(wanted, wanted_storage);
  if (num_elements(found.type.shape) > 0 && (a == nullptr || b == nullptr)) return differ("no memory to compare them");
  Difference out;
  visit_dtype(found.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    compare_elements(static_cast<const T*>(a), static_cast<const T*>(b), found.type.shape, tolerance, out);
  });
  return out;
}

}  // namespace plica
