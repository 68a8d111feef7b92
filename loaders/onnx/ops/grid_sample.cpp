#include "loaders/onnx/ops/tables.h"
#include "ops/gather_elements.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;

enum class Padding { kZeros, kBorder, kReflection };

// Along one axis of x: which elements a point reads, and with which weights; each (N, 1, points).
struct Reads {
  Ids indices, weights;  // i64, f32
};

class Sampler {
 public:
  Sampler(Lowering& n, Padding padding, bool align_corners, std::string mode)
      : n_(n), padding_(padding), align_corners_(align_corners), mode_(std::move(mode)) {}

  // x in [-1, 1] along an axis of `size` elements.
  Result<Reads> reads(Id normalised, int64_t size);

 private:
  Result<Id> number(double value) { return n_.scalar(value, DType::kF32); }
  Result<Id> less(Result<Id> a, Result<Id> b) { return n_.call(Fn::kLess, {std::move(a), std::move(b)}); }
  Result<Id> where(Result<Id> c, Result<Id> a, Result<Id> b) {
    return n_.call(Fn::kWhere, {std::move(c), std::move(a), std::move(b)});
  }
  Result<Id> clamped(Result<Id> x, double low, double high) {
    return n_.call(Fn::kMax, {n_.call(Fn::kMin, {std::move(x), number(high)}), number(low)});
  }
  Result<Id> reflected(Result<Id> x, int64_t size);
  Result<Id> folded(Id x, int64_t size);
  Status add(Reads& reads, Result<Id> place, Result<Id> weight, int64_t size);
  Result<Id> cubic(int i, Id t);

  Lowering& n_;
  Padding padding_;
  bool align_corners_;
  std::string mode_;
};

// Mirrored at the borders of the axis as often as it takes.
Result<Id> Sampler::reflected(Result<Id> x, int64_t size) {
  const double low = align_corners_ ? 0 : -0.5;
  const double span = align_corners_ ? static_cast<double>(size - 1) : static_cast<double>(size);
  if (span == 0) return clamped(std::move(x), 0, 0);
  PLICA_TRY(const Id wave, n_.call(Fn::kMod, {n_.sub(std::move(x), number(low)), number(2 * span)}));
  return n_.add(number(low), where(less(number(span), wave), n_.sub(number(2 * span), wave), wave));
}

// What padding does to the points outside the axis.
Result<Id> Sampler::folded(Id x, int64_t size) {
  if (padding_ == Padding::kZeros) return x;
  const double low = align_corners_ ? 0 : -0.5,
               high = align_corners_ ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5;
  const Result<Id> inside =
      n_.call(Fn::kAnd, {n_.call(Fn::kLessOrEqual, {number(low), x}), n_.call(Fn::kLessOrEqual, {x, number(high)})});
  const double last = static_cast<double>(size - 1);
  return where(inside, x, padding_ == Padding::kBorder ? clamped(x, 0, last) : reflected(x, size));
}

Status Sampler::add(Reads& reads, Result<Id> place, Result<Id> weight, int64_t size) {
  const double last = static_cast<double>(size - 1);
  PLICA_TRY(Id at, place);
  if (padding_ == Padding::kReflection) {
    PLICA_TRY(at, reflected(at, size));
  }
  PLICA_TRY(const Id kept, clamped(at, 0, last));
  if (padding_ == Padding::kZeros) weight = where(n_.call(Fn::kEqual, {kept, at}), weight, number(0));
  PLICA_TRY(reads.indices.emplace_back(), n_.cast(kept, DType::kI64));
  PLICA_TRY(reads.weights.emplace_back(), weight);
  return {};
}

// Weight i of four by cubic convolution (Keys 1981, a = -0.75), t behind the second.
Result<Id> Sampler::cubic(int i, Id t) {
  constexpr double kA = -0.75;
  PLICA_TRY(const Id x, i < 2 ? n_.add(t, number(1 - i)) : n_.sub(number(i - 1), t));
  const Result<Id> square = n_.mul(x, x);
  if (i == 1 || i == 2) {
    return n_.add(n_.mul(n_.sub(n_.mul(number(kA + 2), x), number(kA + 3)), square), number(1));
  }
  const Result<Id> inner = n_.add(n_.mul(n_.sub(n_.mul(number(kA), x), number(5 * kA)), x), number(8 * kA));
  return n_.sub(n_.mul(inner, x), number(4 * kA));
}

Result<Reads> Sampler::reads(Id normalised, int64_t size) {
  const auto length = static_cast<double>(size);
  PLICA_TRY(Id x, align_corners_
                      ? n_.mul(n_.div(n_.add(normalised, number(1)), number(2)), number(length - 1))
                      : n_.div(n_.sub(n_.mul(n_.add(normalised, number(1)), number(length)), number(1)), number(2)));
  Reads reads;
  if (mode_ == "nearest") {
    PLICA_TRY(x, n_.call(Fn::kRound, {x}));
    PLICA_CHECK(add(reads, n_.call(Fn::kRound, {folded(x, size)}), n_.full(1, DType::kF32, n_.shape(x)), size));
    return reads;
  }
  PLICA_TRY(x, folded(x, size));
  PLICA_TRY(const Id left, n_.call(Fn::kFloor, {x}));
  PLICA_TRY(const Id t, n_.sub(x, left));
  if (mode_ == "cubic" || mode_ == "bicubic") {
    for (int i = 0; i < 4; ++i) PLICA_CHECK(add(reads, n_.add(left, number(i - 1)), cubic(i, t), size));
    return reads;
  }
  PLICA_CHECK(add(reads, left, n_.sub(number(1), t), size));
  PLICA_CHECK(add(reads, n_.add(left, number(1)), t, size));
  return reads;
}

// x (N, C, S...) read at the points of grid (N, points..., axes), the last axis of x first.
Status grid_sample(Lowering& n) {
  const Id x = n.in(0), grid = n.in(1);
  PLICA_TRY(const std::string mode, string_attribute(n.node(), "mode", "linear"));
  PLICA_TRY(const std::string padding, string_attribute(n.node(), "padding_mode", "zeros"));
  PLICA_TRY(const bool align_corners, n.flag("align_corners", false));
  const Shape shape = n.shape(x), points = n.shape(grid);
  const size_t axes = shape.size() - 2;
  if (shape.size() < 3 || points.size() != shape.size() || points[0] != shape[0] ||
      points.back() != static_cast<int64_t>(axes))
    return invalid_model("the input is " + to_string(shape) + ", the grid " + to_string(points));
  Sampler sampler(n,
                  padding == "border"       ? Padding::kBorder
                  : padding == "reflection" ? Padding::kReflection
                                            : Padding::kZeros,
                  align_corners, mode);
  Shape out(points.begin() + 1, points.end() - 1);
  const int64_t count = num_elements(out), pixels = num_elements({shape.begin() + 2, shape.end()});
  // Places and weights of all combinations so far, in rows of pixels.
  Ids places, weights;
  for (size_t axis = 0; axis < axes; ++axis) {
    const Result<Id> along = n.slice(grid, n.rank(grid) - 1, static_cast<int64_t>(axes - 1 - axis), 1);
    PLICA_TRY(const Id normalised, n.cast(n.reshape(along, {shape[0], 1, count}), DType::kF32));
    PLICA_TRY(const Reads reads, sampler.reads(normalised, shape[axis + 2]));
    Ids new_places, new_weights;
    for (size_t k = 0; k < std::max<size_t>(1, places.size()); ++k)
      for (size_t i = 0; i < reads.indices.size(); ++i) {
        Result<Id> place = reads.indices[i], weight = reads.weights[i];
        if (!places.empty()) {
          place = n.add(n.mul(places[k], n.scalar(static_cast<double>(shape[axis + 2]), DType::kI64)), place);
          weight = n.mul(weights[k], weight);
        }
        PLICA_TRY(new_places.emplace_back(), place);
        PLICA_TRY(new_weights.emplace_back(), weight);
      }
    places = std::move(new_places);
    weights = std::move(new_weights);
  }
  PLICA_TRY(const Id flat, n.reshape(x, {shape[0], shape[1], pixels}));
  Result<Id> sum = kNone;
  for (size_t i = 0; i < places.size(); ++i) {
    const Result<Id> index = n.expand(places[i], {shape[0], shape[1], count});
    const Result<Id> read = n.cast(n.emit_one(gather_elements_op, ops::GatherElements{2}, {flat, index}), DType::kF32);
    const Result<Id> term = n.mul(read, weights[i]);
    sum = i == 0 ? term : n.add(sum, term);
  }
  out.insert(out.begin(), {shape[0], shape[1]});
  return n.give(n.cast(n.reshape(sum, std::move(out)), n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"GridSample", 16, 2, grid_sample},
};

}  // namespace

std::span<const OpRow> grid_sample_rows() { return kRows; }

}  // namespace plica::onnx
