#include "models/pooling.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr std::array kNames = {
    std::pair{std::string_view("mean"), Pooling::kMean}, std::pair{std::string_view("max"), Pooling::kMax},
    std::pair{std::string_view("sum"), Pooling::kSum}, std::pair{std::string_view("cls"), Pooling::kCls}};

template <class T>
double widen(T value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    return to_float(value);
  } else {
    return static_cast<double>(value);
  }
}

// `totals` becomes the sum or maximum of the rows (count, C) at `data`.
template <class T>
void gather_rows(const TensorView& rows, bool maximum, std::vector<double>& totals) {
  const T* data = static_cast<const T*>(rows.data);
  for (int64_t row = 0; row < rows.type.shape[0]; ++row)
    for (size_t column = 0; column < totals.size(); ++column) {
      const double value =
          widen(data[row * rows.type.strides[0] + static_cast<int64_t>(column) * rows.type.strides[1]]);
      totals[column] = maximum ? std::max(totals[column], value) : totals[column] + value;
    }
}

}  // namespace

std::optional<Pooling> parse_pooling(std::string_view name) {
  for (const auto& [known, pooling] : kNames)
    if (known == name) return pooling;
  return std::nullopt;
}

std::string_view name_of(Pooling pooling) {
  for (const auto& [name, known] : kNames)
    if (known == pooling) return name;
  return {};
}

TensorView residues_of(const TensorView& output, const ResidueRows& rows) {
  Strides storage;
  const Strides& strides = strides_of(output.type, storage);
  const int64_t offset = rows.batch_row * strides[0] + rows.first * strides[1];
  char* data = static_cast<char*>(output.data) + offset * static_cast<int64_t>(size_of(output.type.dtype));
  return {{output.type.dtype, {rows.count, output.type.shape[2]}, {strides[1], strides[2]}}, data};
}

void pool(const TensorView& output, const ResidueRows& rows, Pooling pooling, std::span<float> vector) {
  const bool maximum = pooling == Pooling::kMax;
  const ResidueRows wanted = pooling == Pooling::kCls ? ResidueRows{rows.batch_row, 0, 1} : rows;
  std::vector<double> totals(vector.size(), maximum ? -std::numeric_limits<double>::infinity() : 0.0);
  visit_dtype(output.type.dtype, [&](auto tag) {
    gather_rows<typename decltype(tag)::type>(residues_of(output, wanted), maximum, totals);
  });
  const double divisor = pooling == Pooling::kMean ? static_cast<double>(wanted.count) : 1.0;
  for (size_t column = 0; column < vector.size(); ++column)
    vector[column] = static_cast<float>(totals[column] / divisor);
}

}  // namespace plica
