#include <algorithm>
#include <cmath>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

// Interpolation is linear in x and separable: along each axis a matrix of known numbers.
namespace plica::onnx {
namespace {

using ops::Fn;

struct Mode {
  std::string kernel = "nearest";        // or linear, cubic
  std::string transform = "half_pixel";  // of coordinates
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;
  bool antialias = false;
  bool exclude_outside = false;
};

// One axis to resize.
struct Axis {
  int64_t axis = 0, in = 0, out = 0;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

// Where output element i lies in the input, in elements.
double source_of(const Axis& axis, const Mode& mode, int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(axis.in);
  const double out = axis.scale * in;
  if (mode.transform == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode.transform == "asymmetric") return x / axis.scale;
  if (mode.transform == "tf_crop_and_resize") {
    const double span = (axis.roi_end - axis.roi_start) * (in - 1);
    return (out == 1 ? span / 2 : x * span / (out - 1)) + axis.roi_start * (in - 1);
  }
  if (mode.transform == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode.transform == "pytorch_half_pixel" && out == 1) return -0.5;
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (mode.transform == "half_pixel_symmetric") return in / 2 * (1 - static_cast<double>(axis.out) / out) + half_pixel;
  return half_pixel;
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Weights of neighbouring elements, for a point `ratio` in (0, 1] behind the left one of the middle two.
std::vector<double> weights_of(double ratio, const Axis& axis, const Mode& mode) {
  if (mode.kernel == "nearest") {
    bool right = ratio == 1 || mode.nearest == "ceil";
    if (mode.nearest == "round_prefer_floor") right = right || ratio > 0.5;
    if (mode.nearest == "round_prefer_ceil") right = right || ratio >= 0.5;
    return {right ? 0.0 : 1.0, right ? 1.0 : 0.0};
  }
  const double scale = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double radius = mode.kernel == "cubic" ? 2 : 1;
  const auto first = static_cast<int64_t>(std::floor(-radius / scale)) + 1;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double x = (static_cast<double>(i) - ratio) * scale;
    weights.push_back(mode.kernel == "cubic" ? cubic(x, mode.cubic_a) : std::clamp(1 - std::abs(x), 0.0, 1.0));
    sum += weights.back();
  }
  for (double& weight : weights)
    if (mode.antialias) weight /= sum;
  return weights;
}

// Row i holds the weights of the input's elements in output element i.
std::vector<double> matrix_of(const Axis& axis, const Mode& mode) {
  std::vector<double> matrix(static_cast<size_t>(axis.in * axis.out), 0.0);
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = source_of(axis, mode, i), left = std::floor(x);
    std::vector<double> weights = weights_of(x == left ? 1 : x - left, axis, mode);
    const auto count = static_cast<int64_t>(weights.size());
    const int64_t first = static_cast<int64_t>(left) - count / 2 + (x == left ? 0 : 1);
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      double& weight = weights[static_cast<size_t>(k)];
      if (mode.exclude_outside && (first + k < 0 || first + k >= axis.in)) weight = 0;
      sum += weight;
    }
    for (int64_t k = 0; k < count; ++k) {
      const double weight = weights[static_cast<size_t>(k)];
      const int64_t at = std::clamp<int64_t>(first + k, 0, axis.in - 1);
      matrix[static_cast<size_t>(i * axis.in + at)] += mode.exclude_outside && sum != 0 ? weight / sum : weight;
    }
  }
  return matrix;
}

Result<Id> numbers(Lowering& n, const std::vector<double>& values, Shape shape, DType dtype) {
  PLICA_TRY(Tensor tensor, Tensor::zeros(DType::kF64, std::move(shape)));
  std::copy(values.begin(), values.end(), tensor.as<double>());
  return n.cast(n.constant(std::move(tensor)), dtype);
}

Result<Id> resized(Lowering& n, Id x, const Axis& axis, const Mode& mode) {
  const std::vector<double> matrix = matrix_of(axis, mode);
  if (mode.kernel == "nearest") {
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < axis.out; ++i) {
      const auto row = matrix.begin() + i * axis.in;
      chosen.push_back(std::find(row, row + axis.in, 1.0) - row);
    }
    return n.emit_one(gather_op, ops::Gather{axis.axis}, {x, n.int64s(chosen)});
  }
  // (out, in) times x with all axes but this one flattened around it.
  const Shape shape = n.shape(x);
  int64_t before = 1, after = 1;
  for (int64_t i = 0; i < axis.axis; ++i) before *= n.size(x, i);
  for (int64_t i = axis.axis + 1; i < n.rank(x); ++i) after *= n.size(x, i);
  Shape out = shape;
  out[static_cast<size_t>(axis.axis)] = axis.out;
  PLICA_TRY(const Id left, numbers(n, matrix, {axis.out, axis.in}, n.dtype(x)));
  return n.reshape(n.mat_mul(left, n.reshape(x, {before, axis.in, after})), std::move(out));
}

// What lies outside the input becomes `value`.
Result<Id> extrapolated(Lowering& n, Id y, const std::vector<Axis>& axes, const Mode& mode, double value) {
  Result<Id> result = y;
  for (const Axis& axis : axes) {
    std::vector<double> inside;
    for (int64_t i = 0; i < axis.out; ++i) {
      const double x = source_of(axis, mode, i);
      inside.push_back(x >= 0 && x <= static_cast<double>(axis.in - 1) ? 1 : 0);
    }
    Shape along(static_cast<size_t>(n.rank(y)), 1);
    along[static_cast<size_t>(axis.axis)] = axis.out;
    result = n.call(Fn::kWhere, {numbers(n, inside, along, DType::kBool), result, n.scalar_like(value, y)});
  }
  return result;
}

Status give_resized(Lowering& n, const std::vector<Axis>& axes, const Mode& mode) {
  Result<Id> y = n.in(0);
  const DType dtype = n.dtype(n.in(0));
  const bool computes = mode.kernel != "nearest";
  if (computes && dtype != DType::kF64) y = n.cast(y, DType::kF32);
  std::vector<Axis> changed;
  for (const Axis& axis : axes) {
    if (axis.in < 1 || axis.out < 0 || axis.out > (int64_t{1} << 26) / axis.in)
      return unsupported("axis " + std::to_string(axis.axis) + " from " + std::to_string(axis.in) + " to " +
                         std::to_string(axis.out) + " elements");
    if (axis.scale == 1 && axis.in == axis.out && axis.roi_start == 0 && axis.roi_end == 1) continue;
    changed.push_back(axis);
    PLICA_TRY(const Id x, y);
    y = resized(n, x, axis, mode);
  }
  if (mode.transform == "tf_crop_and_resize") {
    PLICA_TRY(const double value, n.real("extrapolation_value", 0));
    PLICA_TRY(const Id x, y);
    y = extrapolated(n, x, changed, mode, value);
  }
  return n.give(n.cast(y, dtype));
}

Result<int64_t> scaled_size(int64_t size, double scale) {
  if (scale > 0 && scale < 1e6) return static_cast<int64_t>(scale * static_cast<double>(size));
  return invalid_model("a scale is " + std::to_string(scale) + ", wanted a number above 0 and below a million");
}

// Output sizes from scales, or scales from sizes under the policy that keeps the aspect ratio.
Status set_sizes(Lowering& n, std::vector<Axis>& axes) {
  if (n.has(3) && num_elements(n.shape(n.in(3))) > 0) {
    PLICA_TRY(const auto sizes, n.known_ints(3));
    if (sizes.size() != axes.size())
      return invalid_model("sizes has " + std::to_string(sizes.size()) + " entries, wanted " +
                           std::to_string(axes.size()));
    PLICA_TRY(const std::string policy, string_attribute(n.node(), "keep_aspect_ratio_policy", "stretch"));
    double common = policy == "not_larger" ? INFINITY : 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].out = sizes[i];
      axes[i].scale = static_cast<double>(sizes[i]) / static_cast<double>(axes[i].in);
      common = policy == "not_larger" ? std::min(common, axes[i].scale) : std::max(common, axes[i].scale);
    }
    if (policy == "stretch") return {};
    for (Axis& axis : axes) {
      axis.scale = common;
      axis.out = static_cast<int64_t>(common * static_cast<double>(axis.in) + 0.5);
    }
    return {};
  }
  if (!n.has(2)) return invalid_model("neither scales nor sizes are given");
  PLICA_TRY(const auto scales, n.known_doubles(2));
  if (scales.size() != axes.size())
    return invalid_model("scales has " + std::to_string(scales.size()) + " entries, wanted " +
                         std::to_string(axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].scale = scales[i];
    PLICA_TRY(axes[i].out, scaled_size(axes[i].in, scales[i]));
  }
  return {};
}

Result<Mode> read_mode(Lowering& n) {
  Mode mode;
  PLICA_TRY(mode.kernel, string_attribute(n.node(), "mode", "nearest"));
  PLICA_TRY(mode.transform, string_attribute(n.node(), "coordinate_transformation_mode", "half_pixel"));
  PLICA_TRY(mode.nearest, string_attribute(n.node(), "nearest_mode", "round_prefer_floor"));
  PLICA_TRY(mode.cubic_a, n.real("cubic_coeff_a", -0.75));
  PLICA_TRY(mode.antialias, n.flag("antialias", false));
  PLICA_TRY(mode.exclude_outside, n.flag("exclude_outside", false));
  if (mode.kernel != "nearest" && mode.kernel != "linear" && mode.kernel != "cubic")
    return invalid_model("attribute 'mode' is '" + mode.kernel + "', wanted nearest, linear or cubic");
  return mode;
}

Status resize(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Mode mode, read_mode(n));
  std::vector<int64_t> all;
  for (int64_t axis = 0; axis < n.rank(x); ++axis) all.push_back(axis);
  PLICA_TRY(const auto chosen, ints_attribute(n.node(), "axes", all));
  std::vector<Axis> axes;
  for (const int64_t axis : chosen) {
    PLICA_TRY(const int64_t at, normalise_axis(axis, n.rank(x)));
    axes.push_back({.axis = at, .in = n.size(x, at)});
  }
  if (mode.transform == "tf_crop_and_resize") {
    PLICA_TRY(const auto roi, n.known_doubles(1));
    if (roi.size() != 2 * axes.size())
      return invalid_model("roi has " + std::to_string(roi.size()) + " entries, wanted " +
                           std::to_string(2 * axes.size()));
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].roi_start = roi[i];
      axes[i].roi_end = roi[axes.size() + i];
    }
  }
  PLICA_CHECK(set_sizes(n, axes));
  return give_resized(n, axes, mode);
}

// Scales only, and the plain coordinates of old.
Status give_upsampled(Lowering& n, const std::vector<double>& scales) {
  Mode mode;
  PLICA_TRY(mode.kernel, string_attribute(n.node(), "mode", "nearest"));
  mode.transform = "asymmetric";
  mode.nearest = "floor";
  const Id x = n.in(0);
  if (static_cast<int64_t>(scales.size()) != n.rank(x))
    return invalid_model("scales has " + std::to_string(scales.size()) + " entries, wanted " +
                         std::to_string(n.rank(x)));
  std::vector<Axis> axes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis) {
    const double scale = scales[static_cast<size_t>(axis)];
    PLICA_TRY(const int64_t out, scaled_size(n.size(x, axis), scale));
    axes.push_back({.axis = axis, .in = n.size(x, axis), .out = out, .scale = scale});
  }
  return give_resized(n, axes, mode);
}

Status upsample(Lowering& n) {
  PLICA_TRY(const auto scales, n.known_doubles(1));
  return give_upsampled(n, scales);
}

Status upsample_by_attribute(Lowering& n) {
  PLICA_TRY(const auto scales, floats_attribute(n.node(), "scales"));
  return give_upsampled(n, {scales.begin(), scales.end()});
}

constexpr OpRow kRows[] = {
    {"Resize", 10, 2, upsample},
    {"Resize", 11, 1, resize},
    {"Upsample", 7, 1, upsample_by_attribute},
    {"Upsample", 9, 2, upsample},
};

}  // namespace

std::span<const OpRow> resize_rows() { return kRows; }

}  // namespace plica::onnx
