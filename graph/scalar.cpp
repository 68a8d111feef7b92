#include "graph/scalar.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr int64_t kMaxLookedAt = 4096;

template <class T>
double as_double(T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BF16>) {
    return to_bf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::string chars(T value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

double rounded(double value, DType dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return as_double(from_double<T>(value));
  });
}

// Same bits, so that -0 is not 0 and NaN is itself.
bool all_equal(const Constant& constant) {
  return visit_dtype(constant.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* bytes = static_cast<const unsigned char*>(constant.data);
    const auto count = static_cast<size_t>(num_elements(constant.type.shape));
    for (size_t i = sizeof(T); i < count * sizeof(T); ++i)
      if (bytes[i] != bytes[i - sizeof(T)]) return false;
    return true;
  });
}

// Whether a number has seven significant digits or more: an irrational written down.
bool is_long(double value) {
  int digits = 0;
  for (char c : chars(std::abs(value))) {
    if (c == 'e') break;
    if (c != '.' && (c != '0' || digits > 0)) ++digits;
  }
  return digits >= 7;
}

}  // namespace

double element(const Constant& constant, int64_t i) {
  return visit_dtype(constant.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return as_double(static_cast<const T*>(constant.data)[i]);
  });
}

std::string element_text(const Constant& constant, int64_t i) {
  return visit_dtype(constant.type.dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T value = static_cast<const T*>(constant.data)[i];
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "1" : "0";
    } else if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
      return chars(to_float(value));
    } else {
      return chars(value);
    }
  });
}

void set_element(Tensor& tensor, int64_t i, double value) {
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    tensor.as<T>()[i] = from_double<T>(value);
  });
}

bool is_dense_constant(const Constant& constant) { return is_dense(constant.type) && constant.data != nullptr; }

std::optional<double> uniform_value(const Constant& constant) {
  const int64_t count = num_elements(constant.type.shape);
  if (count == 0 || count > kMaxLookedAt || !is_dense_constant(constant) || !all_equal(constant)) return std::nullopt;
  if (constant.type.dtype != DType::kF32) return element(constant, 0);
  const float value = *static_cast<const float*>(constant.data);
  if (!std::isfinite(value)) return static_cast<double>(value);
  const std::string text = chars(value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

bool is_uniform(const Constant& constant, double value) {
  const auto found = uniform_value(constant);
  if (!found) return false;
  const double wanted = rounded(value, constant.type.dtype);
  if (rounded(*found, constant.type.dtype) == wanted) return true;
  return is_long(value) && std::abs(*found - value) <= 1e-6 * std::abs(value);
}

Result<ConstantPtr> scalar_constant(double value, DType dtype) {
  PLICA_TRY(Tensor tensor, Tensor::zeros(dtype, {}));
  set_element(tensor, 0, value);
  return make_constant(std::move(tensor));
}

}  // namespace plica
