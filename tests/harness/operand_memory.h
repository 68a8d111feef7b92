#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"

namespace plica {

// How an operand lies in memory.
enum class Layout {
  kDense,
  kTransposed,  // the last two axes exchanged in memory
  kHeads,       // (..., H, L, D) in memory as (..., L, H, D)
  kReversed,    // the last axis backwards
  kGapped,      // rows apart from each other, the first element not aligned
  kRepeated,    // the same for every index of the first axis, whose stride is 0
};

enum class Fill {
  kUniform,   // floats in [-1, 1], integers in [-50, 50] or [0, 100]
  kPositive,  // floats in [0.5, 1.5]
  kIndices,   // in [-limit, limit)
  kMask,      // 0 or minus infinity
  kSpecial,   // among uniform ones zeros of both signs, infinities, NaN, tiny and huge values
};

// One input of a case.
struct OperandSpec {
  Shape shape = {};
  Layout layout = Layout::kDense;
  Fill fill = Fill::kUniform;
  std::optional<DType> dtype = {};  // else the case's
  int64_t limit = 0;
  std::vector<double> values = {};  // in row-major order, instead of a fill
  bool constant = false;            // known at plan time
  bool absent = false;
};

// Memory of 64-byte alignment between guards, filled with bytes 0xff: NaN for floats.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t num_bytes);
  std::byte* data() { return begin_; }
  std::span<std::byte> whole() { return all_; }  // with the guards
  bool guards_are_whole() const;

 private:
  size_t num_bytes_;
  std::vector<std::byte> all_;
  std::byte* begin_;
};

// The strides of that layout, which has no gaps (kDense, kTransposed, kHeads); empty where they are those of a dense tensor.
Strides strides_of(const Shape& shape, Layout layout);

// The values of an input in row-major order, rounded to `dtype`: the same for the same spec and seed.
std::vector<double> values_of(const OperandSpec& spec, DType dtype, uint64_t seed);

// An input as its spec lays it out, holding `values` as `dtype`.
class OperandMemory {
 public:
  OperandMemory(const OperandSpec& spec, DType dtype, const std::vector<double>& values);
  const TensorView& view() const { return view_; }
  GuardedMemory& memory() { return memory_; }

 private:
  GuardedMemory memory_;
  TensorView view_;
};

}  // namespace plica
