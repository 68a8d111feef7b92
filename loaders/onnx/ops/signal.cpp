#include <cmath>
#include <numbers>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using std::numbers::pi;

constexpr int64_t kMaxLength = 8192;  // of a transform: it is a matrix

Result<Id> numbers(Lowering& n, const std::vector<double>& values, Shape shape, DType dtype) {
  PLICA_TRY(Tensor tensor, Tensor::zeros(DType::kF64, std::move(shape)));
  std::copy(values.begin(), values.end(), tensor.as<double>());
  return n.cast(n.constant(std::move(tensor)), dtype);
}

struct Transform {
  int64_t steps;   // of the input that take part
  int64_t parts;   // numbers a step: 1, or 2 of a complex one
  int64_t length;  // of the transform
  bool inverse, onesided;

  bool real_result() const { return inverse && onesided; }
  int64_t num_results() const { return onesided && !inverse ? length / 2 + 1 : length; }
};

// The discrete Fourier transform as a matrix: rows (step, part), columns (result, part).
std::vector<double> matrix_of(const Transform& t) {
  const int64_t results = t.num_results(), out_parts = t.real_result() ? 1 : 2;
  std::vector<double> matrix(static_cast<size_t>(t.steps * t.parts * results * out_parts));
  for (int64_t step = 0; step < t.steps; ++step)
    for (int64_t result = 0; result < results; ++result) {
      const double angle = 2 * pi * static_cast<double>(step * result % t.length) / static_cast<double>(t.length);
      double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
      // The half that is not given mirrors what is.
      if (t.real_result() && step != 0 && 2 * step != t.length) scale *= 2;
      const double c = scale * std::cos(angle), s = (t.inverse ? -scale : scale) * std::sin(angle);
      double* real_row = matrix.data() + ((step * t.parts) * results + result) * out_parts;
      real_row[0] = c;
      if (out_parts == 2) real_row[1] = -s;
      if (t.parts == 1) continue;
      double* imaginary_row = real_row + results * out_parts;
      imaginary_row[0] = s;
      if (out_parts == 2) imaginary_row[1] = c;
    }
  return matrix;
}

// x (..., steps, parts) transformed along its last axis but one, in f64.
Result<Id> transformed(Lowering& n, Id x, const Transform& t) {
  Shape shape = n.shape(x);
  const int64_t width = t.steps * t.parts, out_parts = t.real_result() ? 1 : 2;
  shape.resize(shape.size() - 2);
  const int64_t rows = num_elements(shape);
  const auto axis = static_cast<int64_t>(shape.size());
  const Result<Id> used = n.cast(n.slice(x, axis, 0, t.steps), DType::kF64);
  const Result<Id> matrix = numbers(n, matrix_of(t), {width, t.num_results() * out_parts}, DType::kF64);
  shape.push_back(t.num_results());
  shape.push_back(out_parts);
  return n.cast(n.reshape(n.mat_mul(n.reshape(used, {rows, width}), matrix), std::move(shape)), n.dtype(x));
}

Status give_dft(Lowering& n, int64_t axis) {
  const Id x = n.in(0);
  const int64_t rank = n.rank(x);
  PLICA_TRY(const bool inverse, n.flag("inverse", false));
  PLICA_TRY(const bool onesided, n.flag("onesided", false));
  const int64_t size = n.size(x, axis);
  int64_t length = inverse && onesided ? 2 * (size - 1) : size;
  if (n.has(1)) {
    PLICA_TRY(const auto given, n.known_ints(1));
    if (given.size() == 1) length = given[0];
  }
  if (rank < 2 || axis == rank - 1 || length < 1 || n.size(x, rank - 1) > 2)
    return invalid_model("the input is " + to_string(n.shape(x)) + ", the transform along axis " +
                         std::to_string(axis) + " of length " + std::to_string(length));
  if (length > kMaxLength) return unsupported("a transform of length " + std::to_string(length));
  const int64_t last = inverse && onesided ? length / 2 + 1 : length;
  const Transform transform{std::min(size, last), n.size(x, rank - 1), length, inverse, onesided};
  std::vector<int64_t> swap(static_cast<size_t>(rank));
  for (size_t i = 0; i < swap.size(); ++i) swap[i] = static_cast<int64_t>(i);
  std::swap(swap[static_cast<size_t>(axis)], swap[swap.size() - 2]);
  PLICA_TRY(const Id moved, n.transpose(x, swap));
  return n.give(n.transpose(transformed(n, moved, transform), swap));
}

Status dft_by_attribute(Lowering& n) {
  PLICA_TRY(const int64_t axis, n.axis("axis", 1, n.rank(n.in(0))));
  return give_dft(n, axis);
}

Status dft(Lowering& n) {
  int64_t axis = -2;
  if (n.has(2)) {
    PLICA_TRY(const auto given, n.known_ints(2));
    if (given.size() == 1) axis = given[0];
  }
  PLICA_TRY(axis, normalise_axis(axis, n.rank(n.in(0))));
  return give_dft(n, axis);
}

// Frames of the signal (B, L, parts), each times the window, transformed.
Status stft(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const auto step, n.known_ints(1));
  PLICA_TRY(const bool onesided, n.flag("onesided", true));
  int64_t length = n.has(2) ? num_elements(n.shape(n.in(2))) : n.size(x, 1);
  if (n.has(3)) {
    PLICA_TRY(const auto given, n.known_ints(3));
    if (given.size() == 1) length = given[0];
  }
  if (n.rank(x) != 3 || step.size() != 1 || step[0] < 1 || length < 1 || length > n.size(x, 1))
    return invalid_model("the signal is " + to_string(n.shape(x)) + ", frames have " + std::to_string(length) +
                         " steps");
  const int64_t frames = (n.size(x, 1) - length) / step[0] + 1, parts = n.size(x, 2);
  if (length > kMaxLength || parts > 2)
    return unsupported("frames of " + std::to_string(length) + " steps of " + std::to_string(parts) + " parts");
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i) places.push_back(frame * step[0] + i);
  Result<Id> framed = n.emit_one(gather_op, ops::Gather{1}, {x, n.reshape(n.int64s(places), {frames, length})});
  if (n.has(2)) framed = n.mul(framed, n.reshape(n.in(2), {length, 1}));
  PLICA_TRY(const Id windowed, framed);
  return n.give(transformed(n, windowed, {length, parts, length, false, onesided}));
}

// a - b cos(2 pi i / N) + c cos(4 pi i / N)
template <int kWindow>
Status window(Lowering& n) {
  constexpr double kTerms[][3] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
  const auto [a, b, c] = kTerms[kWindow];
  PLICA_TRY(const auto size, n.known_ints(0));
  PLICA_TRY(const bool periodic, n.flag("periodic", true));
  PLICA_TRY(const DType dtype, n.dtype_attr("output_datatype", DType::kF32));
  if (size.size() != 1 || size[0] < 0 || size[0] > (1 << 24))
    return invalid_model("the window's size is not one number from 0 to 2^24");
  std::vector<double> values;
  for (int64_t i = 0; i < size[0]; ++i) {
    const double angle = 2 * pi * static_cast<double>(i) / static_cast<double>(periodic ? size[0] : size[0] - 1);
    values.push_back(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return n.give(numbers(n, values, {size[0]}, dtype));
}

// Triangles that are equally wide on the mel scale, over the bins of a spectrogram.
Status mel_weight_matrix(Lowering& n) {
  double given[5];
  for (size_t i = 0; i < 5; ++i) {
    PLICA_TRY(const auto value, n.known_doubles(i));
    if (value.size() != 1) return invalid_model("operand " + std::to_string(i) + " is not one number");
    given[i] = value[0];
  }
  const auto bins = static_cast<int64_t>(given[0]), rows = static_cast<int64_t>(given[1]) / 2 + 1;
  if (bins < 1 || bins > 4096 || rows < 1 || rows > (1 << 20))
    return invalid_model("the matrix would be " + std::to_string(rows) + "x" + std::to_string(bins));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(given[3]), step = (mel(given[4]) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor((given[1] + 1) * hertz / given[2])));
    if (edges.back() < 0 || edges.back() >= rows)
      return invalid_model("an edge lies in bin " + std::to_string(edges.back()) + " of " + std::to_string(rows));
  }
  std::vector<double> matrix(static_cast<size_t>(rows * bins), 0.0);
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = edges[static_cast<size_t>(i)], middle = edges[static_cast<size_t>(i) + 1],
                  right = edges[static_cast<size_t>(i) + 2];
    const auto at = [&](int64_t row) -> double& { return matrix[static_cast<size_t>(row * bins + i)]; };
    for (int64_t row = left; row <= middle; ++row)
      at(row) = middle == left ? 1 : static_cast<double>(row - left) / static_cast<double>(middle - left);
    for (int64_t row = middle; row < right; ++row)
      at(row) = static_cast<double>(right - row) / static_cast<double>(right - middle);
  }
  PLICA_TRY(const DType dtype, n.dtype_attr("output_datatype", DType::kF32));
  return n.give(numbers(n, matrix, {rows, bins}, dtype));
}

constexpr OpRow kRows[] = {
    {"BlackmanWindow", 17, 1, window<2>},
    {"DFT", 17, 1, dft_by_attribute},
    {"DFT", 20, 1, dft},
    {"HammingWindow", 17, 1, window<1>},
    {"HannWindow", 17, 1, window<0>},
    {"MelWeightMatrix", 17, 5, mel_weight_matrix},
    {"STFT", 17, 2, stft},
};

}  // namespace

std::span<const OpRow> signal_rows() { return kRows; }

}  // namespace plica::onnx
