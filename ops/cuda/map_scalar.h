#pragma once

#include <optional>

#include "ops/map.h"
#include "ops/op.h"

namespace plica::cuda {

constexpr int kScalarInputs = 16;
constexpr int kScalarSteps = 48;

// An instruction with its operands found: register numbers (inputs, then results), or -1 - i for constant i.
struct ScalarStep {
  ops::Fn fn;
  ops::FnResult result;
  DType in, second, out;
  int16_t from[3];
};

struct ScalarProgram {
  int num_steps = 0, num_constants = 0;
  ScalarStep steps[kScalarSteps];
  int64_t constants[kScalarSteps];  // the bits of a Scalar, of their operand's dtype
};

// Any program; none where it is too long.
std::optional<ScalarProgram> decode(const ops::Program& program, const Case& c);

// Queues it over args.
void run_map_scalar(const ScalarProgram& program, const KernelArgs& args);

}  // namespace plica::cuda
