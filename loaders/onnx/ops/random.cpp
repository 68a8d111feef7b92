#include "loaders/onnx/ops/random.h"

#include <algorithm>
#include <cmath>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

Status give_uniform(Lowering& n, Shape shape) {
  PLICA_CHECK(check_shape(shape));
  PLICA_TRY(const double low, n.real("low", 0));
  PLICA_TRY(const double high, n.real("high", 1));
  if (!(low < high))
    return invalid_model("random numbers from " + std::to_string(low) + " to " + std::to_string(high) +
                         ", wanted 'low' below 'high'");
  return n.give_random({std::move(shape), low, high});
}

Status uniform(Lowering& n) {
  PLICA_TRY(Shape shape, ints_attribute(n.node(), "shape"));
  return give_uniform(n, std::move(shape));
}

Status uniform_like(Lowering& n) { return give_uniform(n, n.shape(n.in(0))); }

constexpr OpRow kRows[] = {
    {"RandomUniform", 1, 0, uniform},
    {"RandomUniformLike", 1, 1, uniform_like},
};

}  // namespace

std::span<const OpRow> random_rows() { return kRows; }

bool compares_random(const Lowering& n) { return n.random(0) != nullptr || n.random(1) != nullptr; }

Status give_comparison(Lowering& n, size_t left, size_t right, bool or_equal) {
  const bool on_left = n.random(left) != nullptr;
  if (on_left && n.random(right) != nullptr) return unsupported("random numbers are compared with random numbers");
  const RandomNumbers& random = *n.random(on_left ? left : right);
  const size_t other = on_left ? right : left;
  PLICA_TRY(const std::vector<double> bounds, n.known_doubles(other));
  PLICA_TRY(Shape shape, broadcast(random.shape, n.shape(n.in(other))));
  if (num_elements(shape) == 0) return n.give(n.full(0, DType::kBool, std::move(shape)));
  const auto [least, most] = std::minmax_element(bounds.begin(), bounds.end());
  // Numbers are `low` at the least and below `high`.
  const bool are_numbers = std::ranges::none_of(bounds, [](double bound) { return std::isnan(bound); });
  const bool above = are_numbers && *least >= random.high;
  const bool below = are_numbers && (on_left != or_equal ? *most <= random.low : *most < random.low);
  if (!above && !below)
    return unsupported("random numbers from " + std::to_string(random.low) + " to " + std::to_string(random.high) +
                       " are compared with " + std::to_string(*least) +
                       ", wanted a number that decides for all of them: there are no random numbers here");
  return n.give(n.full(above == on_left ? 1 : 0, DType::kBool, std::move(shape)));
}

}  // namespace plica::onnx
