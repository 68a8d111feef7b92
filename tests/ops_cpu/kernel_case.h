#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace plica {

// An operand: a shape, and the order and size in which its memory is laid out. `storage` is the dense shape in memory, `order` the
// axes of it that make `shape` (empty: as stored). A size of `shape` that is 1 in storage repeats (stride 0) where `expand` is set.
struct CaseOperand {
  Shape storage;
  std::vector<int64_t> order = {};
  DType dtype = DType::kF32;
  bool constant = false;
  float lowest = -1, highest = 1;  // uniform between them; bool: true with probability `highest`
};

// Runs every kernel of `op` that does not decline, with teams of 1 and 3, and compares with `ref`. Fails where `kernel` is not
// among them. Absent operands are nullopt.
struct KernelCase {
  std::string_view op;
  Attrs attrs;
  std::vector<std::optional<CaseOperand>> in;
  std::string_view kernel;
  double tolerance = 2e-5;
};
void expect_kernels_agree(const KernelCase& c);

}  // namespace plica
