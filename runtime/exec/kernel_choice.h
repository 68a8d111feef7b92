#pragma once

#include <vector>

#include "ops/op.h"
#include "runtime/exec/plan.h"

namespace plica {

// What is known when a kernel is chosen for a node.
struct KernelRequest {
  const OpDef* op = nullptr;
  const void* attrs = nullptr;
  Kernels kernels;                 // of the operator on the device
  std::vector<Operand> in;         // with the strides that they have
  std::vector<TensorType> out;     // dense
  std::vector<Strides> preferred;  // of each result; empty: dense
  std::vector<int64_t> out_alignments;
  const PlanOptions* options = nullptr;
};

struct KernelChoice {
  const Kernel* kernel = nullptr;
  std::vector<size_t> to_copy;     // inputs that it wants dense
  bool takes_preferred = false;    // it writes the preferred strides
  std::vector<Declined> declined;  // by the kernels that were asked before it
};

// The first kernel that takes the operands as they are; else the first that takes them with some of the strided ones copied; `ref` last.
// Where the options force a kernel, that one. kUnsupported where the backend has no kernel or all that may be taken decline.
Result<KernelChoice> choose_kernel(const KernelRequest& request);

// Kernels of `device` from "OPERATOR=KERNEL" each; kInvalidInput for what does not exist.
Result<std::vector<ForcedKernel>> forced_kernels(const std::vector<std::string>& texts, Device device);

}  // namespace plica
