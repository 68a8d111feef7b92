#include <bit>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/map_scalar.h"
#include "ops/cuda/scalar.cuh"
#include "ops/scalar.h"

namespace plica::cuda {
namespace {

struct Operands {
  Layout<kScalarInputs + 1> layout;  // inputs, then y
  int num_inputs;
  const void* in[kScalarInputs];
  DType dtype[kScalarInputs];
  void* y;
  DType y_dtype;
};

// A thread makes one element; registers are in local memory.
__global__ void __launch_bounds__(kBlock)
    interpret(const __grid_constant__ Operands operands, const __grid_constant__ ScalarProgram program) {
  wait_for_earlier();
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= operands.layout.count) return;
  int64_t at[kScalarInputs + 1];
  operands.layout.offsets(linear, at);
  Scalar registers[kScalarInputs + kScalarSteps];
  for (int i = 0; i < operands.num_inputs; ++i) registers[i] = load_scalar(operands.in[i], operands.dtype[i], at[i]);
  for (int k = 0; k < program.num_steps; ++k) {
    const ScalarStep& step = program.steps[k];
    Scalar value[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      if (step.from[i] >= 0)
        value[i] = registers[step.from[i]];
      else
        value[i].i = program.constants[-1 - step.from[i]];
    }
    registers[operands.num_inputs + k] =
        apply(step.fn, step.result, {step.in, step.second, step.out}, value[0], value[1], value[2]);
  }
  store_scalar(operands.y, operands.y_dtype, at[kScalarInputs], registers[operands.num_inputs + program.num_steps - 1]);
}

}  // namespace

std::optional<ScalarProgram> decode(const ops::Program& program, const Case& c) {
  const size_t num_inputs = c.in.size(), num_steps = program.instructions.size();
  if (num_inputs > kScalarInputs || num_steps > kScalarSteps || program.immediates.size() > kScalarSteps)
    return std::nullopt;
  ScalarProgram out;
  std::array<DType, kScalarInputs + kScalarSteps> registers{};
  for (size_t i = 0; i < num_inputs; ++i) registers[i] = c.in[i].type->dtype;
  for (const ops::Instruction& instruction : program.instructions) {
    const ops::FnDef& def = ops::def_of(instruction.fn);
    const std::array<int16_t, 3> operands{instruction.a, instruction.b, instruction.c};
    std::array<DType, 3> dtypes{};
    ScalarStep& step = out.steps[out.num_steps];
    step = {instruction.fn, def.result, {}, {}, instruction.dtype, {}};
    for (size_t i = 0; i < static_cast<size_t>(def.num_inputs); ++i) {
      dtypes[i] = operand_dtype(instruction, i, registers);
      step.from[i] = operands[i];
      if (operands[i] >= 0) continue;
      if (out.num_constants == kScalarSteps) return std::nullopt;
      const auto value = plica::make_scalar(dtypes[i], program.immediates[static_cast<size_t>(-1 - operands[i])]);
      out.constants[out.num_constants] = value.i;
      step.from[i] = static_cast<int16_t>(-1 - out.num_constants++);
    }
    step.in = dtypes[0];
    step.second = dtypes[1];
    registers[num_inputs + static_cast<size_t>(out.num_steps++)] = instruction.dtype;
  }
  return out;
}

void run_map_scalar(const ScalarProgram& program, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const size_t rank = y.type.shape.size();
  Operands operands{};
  std::array<AxisStrides, kScalarInputs + 1> strides{};
  operands.num_inputs = static_cast<int>(args.in.size());
  for (size_t i = 0; i < args.in.size(); ++i) {
    operands.in[i] = args.in[i].data;
    operands.dtype[i] = args.in[i].type.dtype;
    strides[i] = strides_in(args.in[i].type, rank);
  }
  operands.y = y.data;
  operands.y_dtype = y.type.dtype;
  strides[kScalarInputs] = strides_in(y.type, rank);
  operands.layout = make_layout(std::span<const int64_t>(y.type.shape), strides);
  if (operands.layout.count == 0) return;
  launch_early({blocks_for(operands.layout.count, kBlock), kBlock, 0, stream_of(args)}, interpret, operands, program);
}

}  // namespace plica::cuda
