#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ops/attrs.h"
#include "ops/constant.h"
#include "plica/tensor.h"
#include "runtime/core/result.h"
#include "runtime/device/traits.h"

namespace plica {

using Types = std::vector<TensorType>;
using InTypes =
    std::span<const TensorType* const>;  // as many as the operator lists; null where an optional one is absent

// One operand of a case. `type` is null where an optional input is absent.
struct Operand {
  const TensorType* type = nullptr;  // with the strides that it will have
  ConstantPtr constant;              // where its value is known at plan time
  int64_t alignment_bytes = 64;      // of element (0, ..., 0)
};

// All that a kernel may base a decision on, known at plan time. Nothing of it changes between runs of one plan.
struct Case {
  std::span<const Operand> in, out;
  DeviceTraits device;
  Precision precision = Precision::kF32;  // what matrix arithmetic may use

  bool has(size_t i) const { return i < in.size() && in[i].type != nullptr; }
};

using KernelState = std::shared_ptr<const void>;

// What a kernel found wrong in its data (an index outside, say); the executor turns it into an Error with the step's name.
struct Fault {
  const char* what = nullptr;  // null: nothing; "index", ...
  int64_t found = 0;
  int64_t limit = 0;  // wanted: in [-limit, limit)
};

struct KernelArgs {
  std::span<const TensorView> in;  // data is null where an optional input is absent, never otherwise
  std::span<const TensorView> out;
  void* scratch = nullptr;      // as many bytes as Kernel::scratch_bytes said, 64-byte aligned
  void* stream = nullptr;       // a cudaStream_t on CUDA; null on the CPU
  const void* state = nullptr;  // what Kernel::prepare returned
  Fault* fault = nullptr;       // set by a kernel outside its parallel part; never null in a run
  int num_threads = 1;

  bool has(size_t i) const { return i < in.size() && in[i].data != nullptr; }
};

// One implementation of an operator on one device. `attrs` points to the operator's attribute struct.
struct Kernel {
  std::string_view name;
  const char* (*declines)(const void* attrs, const Case&) = nullptr;  // why not, or null: it takes this case
  size_t (*scratch_bytes)(const void* attrs, const Case&) = nullptr;  // null: none
  // At plan time: primitives, packed weights (through the store, keyed without the plan's shapes; the data of an operand's
  // constant comes from the store too). Null: no state.
  Result<KernelState> (*prepare)(const void* attrs, const Case&, ConstantStore&) = nullptr;
  void (*run)(const void* attrs, const KernelArgs& args) = nullptr;  // enqueues; never allocates, never syncs
  uint32_t in_place = 0;  // bit i: out[0] may be the very memory of in[i] (same dtype, shape and strides)
  uint32_t absorbs =
      0;  // bit i: the state holds all that is needed of in[i] where that is a constant; run does not read it
};
using Kernels =
    std::span<const Kernel>;  // in order of preference, "ref" last; the planner takes the first that does not decline

struct Cost {
  double flops = 0;
  double bytes = 0;  // each operand read once, each result written once
};

using StructureCounts = std::vector<std::pair<std::string_view, int>>;  // {"layer_norm", 1}

// What the rest of the tree knows of an operator.
struct OpDef {
  std::string_view name;
  std::span<const std::string_view> inputs;  // a trailing '?' marks an optional one, a last "x..." any number
  const AttrsDef* attrs;
  Result<Types> (*infer)(const void* attrs, InTypes in);
  Cost (*cost)(const void* attrs, const Case&) = nullptr;             // null: no arithmetic, bytes of the operands
  void (*structures)(const void* attrs, StructureCounts&) = nullptr;  // what `explain` counts; null: nothing
  bool is_view = false;      // owns no memory: the planner turns it into strides
  bool commutative = false;  // in its first two inputs

  bool variadic() const { return !inputs.empty() && inputs.back().ends_with("..."); }
};

// Tables hold functions of void*, authors write functions of their own attribute struct: As<LayerNorm>::fn<infer>.
template <class AttrsStruct>
struct As {
  template <auto Fn>
  struct Erase;
  template <class R, class... T, R (*Fn)(const AttrsStruct&, T...)>
  struct Erase<Fn> {
    static R call(const void* attrs, T... args) {
      return Fn(*static_cast<const AttrsStruct*>(attrs), static_cast<T>(args)...);
    }
  };
  template <auto Fn>
  static constexpr auto fn = &Erase<Fn>::call;
};

#define PLICA_OP(x) extern const OpDef x##_op;
#define PLICA_CPU(x) extern const Kernels x##_cpu_kernels;
#define PLICA_CUDA(x) extern const Kernels x##_cuda_kernels;
#include "ops/op_list.inc"
#undef PLICA_OP
#undef PLICA_CPU
#undef PLICA_CUDA

std::span<const OpDef* const> all_ops();          // those of op_list.inc, then the point-wise primitives
const OpDef* find_op(std::string_view name);      // by its name in the text notation; null where there is none
Kernels kernels(const OpDef& op, Device device);  // empty where the backend has none

// Types of the results; checks the number of inputs first. Errors name the operator and the operand.
Result<Types> infer_types(const OpDef& op, const Attrs& attrs, InTypes in);

}  // namespace plica
