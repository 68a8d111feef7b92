#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/attrs.h"
#include "ops/pointwise.h"

namespace plica::ops {

// One instruction: register (number of inputs + its own index) = fn(registers a, b, c), rounded or wrapped to `dtype`.
// An operand of -1 - i is immediate i of the program.
struct Instruction {
  Fn fn;
  DType dtype;
  int16_t a = 0, b = 0, c = 0;
  bool operator==(const Instruction&) const = default;
};

// A straight-line program on scalars: registers 0 .. num_inputs-1 are the inputs (each of its tensor's dtype), the last
// instruction is the result. As text: "Mul(Sigmoid(Add(x0,x1)),2)" with the dtype after a colon where it is not that of
// the first operand (inputs and immediates count as f32): "Cast:i64(x0)", "Less:bool(x0,x1)". A register that is used
// more than once is named: "%0=Sub(x0,x1);Mul(%0,%0)". An immediate is of the dtype of the operand beside it; a constant
// exponent is f64.
struct Program {
  int num_inputs = 0;
  std::vector<Instruction> instructions;
  std::vector<double> immediates;  // integers beyond 2^53 do not become immediates

  bool operator==(const Program&) const = default;
  std::string to_text() const;
  static Result<Program> from_text(std::string_view text);
};

// The dtype that operand i of an instruction is read as: that of its register; an immediate has that of the operand beside it.
DType operand_dtype(const Instruction& instruction, size_t i, std::span<const DType> registers);

// The program of one primitive with a result of `dtype`: fn(x0, x1, ...).
Program program_of(Fn fn, DType dtype);

// y = program(x0, x1, ...) element by element; inputs broadcast (NumPy's rules).
//   x...  any dtype, any strides
//   y     the broadcast shape, dtype of the last instruction
struct Map {
  Program program;
  bool operator==(const Map&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"program", &Map::program}}; }
};

}  // namespace plica::ops
