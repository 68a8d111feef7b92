#include <algorithm>
#include <cstddef>

#include "ops/map.h"
#include "ops/map_cpu_blocks.h"
#include "ops/op.h"
#include "ops/scalar.h"
#include "ops/strided.h"

namespace plica {
namespace {

using ops::Instruction;
using ops::Program;

constexpr size_t kBlock = 64;  // elements that the reference computes at a time

// An instruction with its operands found: registers, then three immediates an instruction, lie in one array.
struct Decoded {
  ops::Fn fn;
  FnTypes types;
  std::array<size_t, 3> from;
  size_t to;
};

// What lies in scratch, in this order.
struct Scratch {
  std::span<Scalar> scalars;  // registers, then immediates, a block each
  std::span<Decoded> program;
  std::span<AxisStrides> strides;  // of the inputs, then of the result
  std::span<int64_t> at;           // likewise: where the current element is
  std::span<DType> dtypes;         // of the registers
};

// Hands out parts of a buffer; of a null one, only counts.
struct Buffer {
  std::byte* begin = nullptr;
  size_t used = 0;

  template <class T>
  std::span<T> take(size_t count) {
    auto* part = begin == nullptr ? nullptr : reinterpret_cast<T*>(begin + used);
    used += count * sizeof(T);
    return {part, part == nullptr ? 0 : count};
  }
};

Scratch lay_out(Buffer& buffer, size_t num_inputs, size_t num_instructions) {
  Scratch scratch;
  scratch.scalars = buffer.take<Scalar>((num_inputs + 4 * num_instructions) * kBlock);
  scratch.program = buffer.take<Decoded>(num_instructions);
  scratch.strides = buffer.take<AxisStrides>(num_inputs + 1);
  scratch.at = buffer.take<int64_t>(num_inputs + 1);
  scratch.dtypes = buffer.take<DType>(num_inputs + num_instructions);
  return scratch;
}

void decode(const Program& program, const KernelArgs& args, Scratch& scratch) {
  const size_t num_inputs = args.in.size(), num_instructions = program.instructions.size();
  for (size_t i = 0; i < num_inputs; ++i) scratch.dtypes[i] = args.in[i].type.dtype;
  for (size_t k = 0; k < num_instructions; ++k) {
    const Instruction& instruction = program.instructions[k];
    const std::array<int16_t, 3> operands{instruction.a, instruction.b, instruction.c};
    Decoded& decoded = scratch.program[k];
    decoded = {instruction.fn, {}, {}, num_inputs + k};
    std::array<DType, 3> dtypes{};
    for (size_t i = 0; i < static_cast<size_t>(ops::def_of(instruction.fn).num_inputs); ++i) {
      dtypes[i] = ops::operand_dtype(instruction, i, scratch.dtypes);
      decoded.from[i] = operands[i] >= 0 ? static_cast<size_t>(operands[i]) : num_inputs + num_instructions + 3 * k + i;
      if (operands[i] < 0)
        std::ranges::fill(scratch.scalars.subspan(decoded.from[i] * kBlock, kBlock),
                          make_scalar(dtypes[i], program.immediates[static_cast<size_t>(-1 - operands[i])]));
    }
    decoded.types = {dtypes[0], dtypes[1], instruction.dtype};
    scratch.dtypes[num_inputs + k] = instruction.dtype;
  }
}

// The program is interpreted for a block of a row at a time.
void ref(const ops::Map& op, const KernelArgs& args) {
  const size_t num_inputs = args.in.size();
  const TensorView& y = args.out[0];
  const Shape& shape = y.type.shape;
  const size_t outer = shape.empty() ? 0 : shape.size() - 1;
  const int64_t inner = shape.empty() ? 1 : shape[outer];
  Buffer buffer{static_cast<std::byte*>(args.scratch)};
  Scratch scratch = lay_out(buffer, num_inputs, op.program.instructions.size());
  decode(op.program, args, scratch);
  for (size_t i = 0; i < num_inputs; ++i) scratch.strides[i] = strides_in(args.in[i].type, shape.size());
  scratch.strides[num_inputs] = strides_in(y.type, shape.size());
  std::ranges::fill(scratch.at, 0);
  const auto reg = [&](size_t index) { return scratch.scalars.data() + index * kBlock; };
  const auto step = [&](size_t i) { return shape.empty() ? 0 : scratch.strides[i][outer]; };

  AxisSizes previous{};
  for_each_index<0>(std::span(shape).first(outer), {}, [&](const auto&, const AxisSizes& index) {
    for (size_t axis = 0; axis < outer; ++axis) {
      if (index[axis] == previous[axis]) continue;
      for (size_t i = 0; i <= num_inputs; ++i)
        scratch.at[i] += (index[axis] - previous[axis]) * scratch.strides[i][axis];
      previous[axis] = index[axis];
    }
    for (int64_t first = 0; first < inner; first += kBlock) {
      const int64_t count = std::min<int64_t>(kBlock, inner - first);
      for (size_t i = 0; i < num_inputs; ++i)
        load_scalars(args.in[i], scratch.at[i] + first * step(i), step(i), reg(i), count);
      for (const Decoded& d : scratch.program)
        apply(d.fn, d.types, reg(d.from[0]), reg(d.from[1]), reg(d.from[2]), reg(d.to), count);
      store_scalars(y, scratch.at[num_inputs] + first * step(num_inputs), step(num_inputs), y.type.dtype,
                    reg(scratch.program.back().to), count);
    }
  });
}

size_t scratch_bytes(const ops::Map& op, const Case& c) {
  Buffer buffer;
  lay_out(buffer, c.in.size(), op.program.instructions.size());
  return buffer.used;
}

constexpr Kernel kKernels[] = {
    {.name = "blocks",
     .declines = As<ops::Map>::fn<map_blocks::declines>,
     .scratch_bytes = As<ops::Map>::fn<map_blocks::scratch_bytes>,
     .prepare = As<ops::Map>::fn<map_blocks::prepare>,
     .run = As<ops::Map>::fn<map_blocks::run>,
     .in_place = map_blocks::kInPlace},
    {.name = "ref", .scratch_bytes = As<ops::Map>::fn<scratch_bytes>, .run = As<ops::Map>::fn<ref>},
};

}  // namespace

constinit const Kernels map_cpu_kernels = kKernels;

}  // namespace plica
