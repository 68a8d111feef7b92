#pragma once

#include <string>
#include <vector>

#include "tests/harness/operand_memory.h"

namespace plica {

// One situation of an operator, run in each of `dtypes`. Inputs that are not listed are absent.
struct OpCase {
  std::string name = {};
  Attrs attrs = {};
  std::vector<OperandSpec> in = {};
  std::vector<DType> dtypes = {DType::kF32};
  double tolerance = 1;  // times that of the dtype
  Precision precision = Precision::kF32;
};

struct OpTable {
  std::string_view op = {};
  std::vector<OpCase> cases = {};
  bool judged_in_f64 = true;  // the reference gets the inputs widened to f64; else as they are
  bool every_kernel = true;   // some case must run each kernel
};

// Multiplies the table by backend, by every kernel that does not decline and by the number of threads; judges each result
// against the reference kernel. Outputs, scratch and gaps are poisoned and guarded; a second run must give the same
// bits and, on the CPU, allocate nothing; where a kernel may work in place, it also does; where it writes results with the strides
// of a transposed tensor or of heads, it also does, as a plan may ask of it. Prints what ran and why kernels declined; fails where a kernel
// of the operator never ran. Where no kernel for CUDA can run it says why; with PLICA_TEST_CUDA in the environment that is
// a failure, and the CPU is left out. With PLICA_TEST_ONCE in it, for tools under which a launch takes long, the second run and all but one
// of the strided results and of the inputs to share memory with are left out.
void expect_kernels_agree(const OpTable& table);

inline const std::vector<DType> kFloats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
inline const std::vector<DType> kSizes = {DType::kI8, DType::kF16, DType::kF32, DType::kI64};  // one an element size

}  // namespace plica
