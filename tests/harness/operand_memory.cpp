#include "tests/harness/operand_memory.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "ops/scalar.h"
#include "ops/strided.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr size_t kGuard = 64;
constexpr auto kGuardByte = std::byte{0xa5};
constexpr int64_t kGap = 3;

// Steele, Lea and Flood 2014: SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) { return low + (high - low) * 0x1p-53 * static_cast<double>(next() >> 11); }
  int64_t whole(int64_t low, int64_t high) {  // in [low, high)
    return high > low ? low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low)) : 0;
  }

 private:
  uint64_t state_;
};

double special(Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0.0,   -0.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                                1e-30, 1e30, -1e4,      88.0,       -104.0};
  const auto which = random.whole(0, 2 * static_cast<int64_t>(std::size(kValues)));
  return which < static_cast<int64_t>(std::size(kValues)) ? kValues[which] : random.uniform(-4, 4);
}

double value(const OperandSpec& spec, DType dtype, Random& random) {
  switch (spec.fill) {
    case Fill::kPositive: return random.uniform(0.5, 1.5);
    case Fill::kIndices: return static_cast<double>(random.whole(-spec.limit, spec.limit));
    case Fill::kMask: return random.whole(0, 4) == 0 ? -std::numeric_limits<double>::infinity() : 0;
    case Fill::kSpecial: return special(random);
    case Fill::kUniform: break;
  }
  if (is_float(dtype)) return random.uniform(-1, 1);
  if (dtype == DType::kBool) return static_cast<double>(random.whole(0, 2));
  return static_cast<double>(is_unsigned(dtype) ? random.whole(0, 101) : random.whole(-50, 51));
}

struct Placement {
  Strides strides;
  int64_t offset = 0, extent = 0;  // of element (0, ..., 0); of all, in elements
};

Placement placement(const OperandSpec& spec) {
  const size_t rank = spec.shape.size();
  std::vector<size_t> order(rank);  // of the axes, outermost first
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (spec.layout == Layout::kTransposed && rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  if (spec.layout == Layout::kHeads && rank >= 3) std::swap(order[rank - 2], order[rank - 3]);
  Placement p{Strides(rank), 0, 1};
  for (size_t i = rank; i-- > 0;) {
    p.strides[order[i]] = p.extent;
    p.extent *= spec.shape[order[i]];
    if (i + 1 == rank && spec.layout == Layout::kGapped) p.extent += kGap;
  }
  if (rank == 0) return p;
  if (spec.layout == Layout::kGapped) p.offset = 1;
  if (spec.layout == Layout::kRepeated) p.strides[0] = 0;
  if (spec.layout == Layout::kReversed) {
    p.offset = std::max<int64_t>(spec.shape.back() - 1, 0);
    p.strides.back() = -1;
  }
  return p;
}

}  // namespace

GuardedMemory::GuardedMemory(size_t num_bytes) : num_bytes_(num_bytes), all_(num_bytes + 3 * kGuard, kGuardByte) {
  const size_t past = reinterpret_cast<uintptr_t>(all_.data()) % kGuard;
  begin_ = all_.data() + kGuard + (kGuard - past) % kGuard;
  if (num_bytes > 0) std::memset(begin_, 0xff, num_bytes);
}

bool GuardedMemory::guards_are_whole() const {
  const auto whole = [](std::byte byte) { return byte == kGuardByte; };
  const std::byte *first = all_.data(), *last = first + all_.size();
  return std::all_of(first, static_cast<const std::byte*>(begin_), whole) &&
         std::all_of(static_cast<const std::byte*>(begin_) + num_bytes_, last, whole);
}

std::vector<double> values_of(const OperandSpec& spec, DType dtype, uint64_t seed) {
  Random random(seed + 1);
  std::vector<double> values(static_cast<size_t>(num_elements(spec.shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    const double wanted = spec.values.empty() ? value(spec, dtype, random) : spec.values[i];
    values[i] = cast_scalar(make_scalar(dtype, wanted), dtype, DType::kF64).f;
  }
  if (spec.layout == Layout::kRepeated && !spec.shape.empty() && spec.shape[0] > 0)
    for (size_t i = values.size() / static_cast<size_t>(spec.shape[0]); i < values.size(); ++i)
      values[i] = values[i - values.size() / static_cast<size_t>(spec.shape[0])];
  return values;
}

Strides strides_of(const Shape& shape, Layout layout) {
  Strides strides = placement({.shape = shape, .layout = layout}).strides;
  return is_dense({DType::kF32, shape, strides}) ? Strides{} : strides;
}

OperandMemory::OperandMemory(const OperandSpec& spec, DType dtype, const std::vector<double>& values)
    : memory_(static_cast<size_t>(placement(spec).offset + placement(spec).extent) * size_of(dtype)) {
  Placement p = placement(spec);
  view_.type = {dtype, spec.shape, spec.layout == Layout::kDense ? Strides() : std::move(p.strides)};
  view_.data = memory_.data() + static_cast<size_t>(p.offset) * size_of(dtype);
  size_t next = 0;
  for_each_element<1>(spec.shape, {&view_.type}, [&](const std::array<int64_t, 1>& at) {
    store_scalar(view_, at[0], dtype, make_scalar(dtype, values[next++]));
  });
}

}  // namespace plica
