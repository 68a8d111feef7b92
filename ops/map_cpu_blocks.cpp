#include "ops/map_cpu_blocks.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ops/cpu/elementwise.h"
#include "ops/cpu/half.h"
#include "ops/cpu/threads.h"
#include "ops/leading_axes.h"
#include "runtime/core/dtype.h"

namespace plica::map_blocks {
namespace {

using cpu::Elementwise;
using ops::Fn;
using Axes = LeadingAxes<kMaxInputs + 1>;  // of the inputs, then y

constexpr int64_t kBlock = 512;   // values of a register
constexpr int64_t kLongRow = 48;  // rows from here on are read where they lie, shorter ones gathered into blocks
constexpr size_t kY = kMaxInputs;

// Registers are numbered: inputs, results of instructions, immediates.
struct Step {
  cpu::ElementwiseFn fn;
  std::array<size_t, 3> from;
  DType dtype;  // that of the result: f32 values are rounded to it
};

struct Compiled {
  std::vector<Step> steps;
  std::vector<float> immediates;
};

std::optional<Elementwise> function_of(Fn fn) {
  switch (fn) {
    case Fn::kAbs: return Elementwise::kAbs;
    case Fn::kAdd: return Elementwise::kAdd;
    case Fn::kAnd: return Elementwise::kAnd;
    case Fn::kCast: return Elementwise::kCopy;
    case Fn::kCeil: return Elementwise::kCeil;
    case Fn::kCos: return Elementwise::kCos;
    case Fn::kDiv: return Elementwise::kDiv;
    case Fn::kEqual: return Elementwise::kEqual;
    case Fn::kErf: return Elementwise::kErf;
    case Fn::kExp: return Elementwise::kExp;
    case Fn::kFloor: return Elementwise::kFloor;
    case Fn::kGelu: return Elementwise::kGelu;
    case Fn::kGeluTanh: return Elementwise::kGeluTanh;
    case Fn::kIsInf: return Elementwise::kIsInf;
    case Fn::kIsNaN: return Elementwise::kIsNaN;
    case Fn::kLess: return Elementwise::kLess;
    case Fn::kLessOrEqual: return Elementwise::kLessOrEqual;
    case Fn::kLog: return Elementwise::kLog;
    case Fn::kMax: return Elementwise::kMax;
    case Fn::kMin: return Elementwise::kMin;
    case Fn::kMul: return Elementwise::kMul;
    case Fn::kNeg: return Elementwise::kNeg;
    case Fn::kNot: return Elementwise::kNot;
    case Fn::kOr: return Elementwise::kOr;
    case Fn::kPow: return Elementwise::kPow;
    case Fn::kRelu: return Elementwise::kRelu;
    case Fn::kRound: return Elementwise::kRound;
    case Fn::kSigmoid: return Elementwise::kSigmoid;
    case Fn::kSign: return Elementwise::kSign;
    case Fn::kSilu: return Elementwise::kSilu;
    case Fn::kSin: return Elementwise::kSin;
    case Fn::kSqrt: return Elementwise::kSqrt;
    case Fn::kSub: return Elementwise::kSub;
    case Fn::kTanh: return Elementwise::kTanh;
    case Fn::kWhere: return Elementwise::kWhere;
    case Fn::kXor: return Elementwise::kXor;
    default: return std::nullopt;
  }
}

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool is_known(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBool || is_half(dtype); }

float rounded(double value, DType dtype) {
  if (dtype == DType::kF16) return to_float(to_f16(static_cast<float>(value)));
  if (dtype == DType::kBF16) return to_float(to_bf16(static_cast<float>(value)));
  return static_cast<float>(value);
}

void widen(DType dtype, const uint16_t* x, float* y, int64_t n) {
  (dtype == DType::kF16 ? cpu::widen_f16 : cpu::widen_bf16)(x, y, n);
}
void narrow(DType dtype, const float* x, uint16_t* y, int64_t n) {
  (dtype == DType::kF16 ? cpu::narrow_f16 : cpu::narrow_bf16)(x, y, n);
}

// A block of f32 values to the nearest of a half type.
void round_block(DType dtype, float* x, int64_t count) {
  std::array<uint16_t, kBlock> half;
  narrow(dtype, x, half.data(), count);
  widen(dtype, half.data(), x, count);
}

Compiled compile(const ops::Program& p, std::span<const Operand> in) {
  Compiled compiled;
  const auto num_inputs = static_cast<size_t>(p.num_inputs), num_steps = p.instructions.size();
  std::vector<DType> dtypes;
  for (const Operand& operand : in) dtypes.push_back(operand.type->dtype);
  const auto immediate = [&](float value) {
    auto& known = compiled.immediates;
    const auto same = [&](float other) { return std::bit_cast<uint32_t>(other) == std::bit_cast<uint32_t>(value); };
    const auto at = static_cast<size_t>(std::ranges::find_if(known, same) - known.begin());
    if (at == known.size()) known.push_back(value);
    return num_inputs + num_steps + at;
  };
  for (const ops::Instruction& instruction : p.instructions) {
    Elementwise fn = *function_of(instruction.fn);
    if (instruction.fn == Fn::kCast && instruction.dtype == DType::kBool) fn = Elementwise::kIsNonzero;
    if (fn == Elementwise::kPow && instruction.b < 0 && p.immediates[static_cast<size_t>(-1 - instruction.b)] == 2)
      fn = Elementwise::kSquare;
    Step step{cpu::elementwise(fn), {}, instruction.dtype};
    const std::array<int16_t, 3> operands{instruction.a, instruction.b, instruction.c};
    for (size_t i = 0; i < static_cast<size_t>(ops::def_of(instruction.fn).num_inputs); ++i)
      step.from[i] = operands[i] >= 0 ? static_cast<size_t>(operands[i])
                                      : immediate(rounded(p.immediates[static_cast<size_t>(-1 - operands[i])],
                                                          ops::operand_dtype(instruction, i, dtypes)));
    dtypes.push_back(instruction.dtype);
    compiled.steps.push_back(step);
  }
  return compiled;
}

size_t num_registers(const Compiled& compiled, size_t num_inputs) {
  return num_inputs + compiled.steps.size() + compiled.immediates.size();
}

// The operands of one run, and the axes they share.
struct Operands {
  const KernelArgs& args;
  Axes axes;
  int64_t inner;  // size of the last axis

  explicit Operands(const KernelArgs& a) : args(a), axes(axes_of(a)) {
    inner = axes.rank > 0 ? axes.sizes[axes.rank - 1] : 1;
  }

  static Axes axes_of(const KernelArgs& args) {
    const Shape& shape = args.out[0].type.shape;
    std::array<AxisStrides, kMaxInputs + 1> strides{};
    for (size_t i = 0; i < args.in.size(); ++i) strides[i] = strides_in(args.in[i].type, shape.size());
    strides[kY] = strides_in(args.out[0].type, shape.size());
    return Axes(shape, strides);
  }

  int64_t step(size_t i) const { return axes.rank > 0 ? axes.strides[i][axes.rank - 1] : 0; }
  bool is_constant(size_t i) const {
    for (size_t k = 0; k < axes.rank; ++k)
      if (axes.strides[i][k] != 0) return false;
    return true;
  }
};

// A position that moves through the elements row by row of the last axis, and where the operands have that row.
class Cursor {
 public:
  Cursor(const Operands& o, int64_t position)
      : o_(o), column_(position % o.inner), outer_(o.axes.rank > 0 ? o.axes.rank - 1 : 0) {
    int64_t row = position / o.inner;
    for (size_t k = outer_; k-- > 0;) {
      index_[k] = row % o.axes.sizes[k];
      row /= o.axes.sizes[k];
      move(k, index_[k]);
    }
  }

  int64_t rest() const { return o_.inner - column_; }  // of the row
  int64_t at(size_t i) const { return at_[i] + column_ * o_.step(i); }

  // By no more than the rest of the row.
  void advance(int64_t count) {
    column_ += count;
    if (column_ < o_.inner) return;
    column_ = 0;
    for (size_t k = outer_; k-- > 0;) {
      move(k, 1);
      if (++index_[k] < o_.axes.sizes[k]) return;
      move(k, -index_[k]);
      index_[k] = 0;
    }
  }

 private:
  void move(size_t k, int64_t by) {
    for (size_t i = 0; i < o_.args.in.size(); ++i) at_[i] += by * o_.axes.strides[i][k];
    at_[kY] += by * o_.axes.strides[kY][k];
  }

  const Operands& o_;
  int64_t column_;
  size_t outer_;
  AxisSizes index_{};
  std::array<int64_t, kMaxInputs + 1> at_{};
};

// Calls fn(cursor, in_block, count) for the rows that the next `elements` touch, and moves the cursor behind them.
template <class Fn>
void for_each_stretch(Cursor& cursor, int64_t elements, const Fn& fn) {
  for (int64_t done = 0; done < elements;) {
    const int64_t count = std::min(elements - done, cursor.rest());
    fn(static_cast<const Cursor&>(cursor), done, count);
    cursor.advance(count);
    done += count;
  }
}

void load(const TensorView& x, int64_t at, int64_t step, float* to, int64_t count) {
  if (x.type.dtype == DType::kBool) {
    const auto* from = static_cast<const uint8_t*>(x.data) + at;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * step] != 0 ? 1.0f : 0.0f;
    return;
  }
  if (is_half(x.type.dtype)) {
    const auto* from = static_cast<const uint16_t*>(x.data) + at;
    if (step == 1) return widen(x.type.dtype, from, to, count);
    for (int64_t i = 0; i < count; ++i) widen(x.type.dtype, from + i * step, to + i, 1);
    return;
  }
  const auto* from = static_cast<const float*>(x.data) + at;
  if (step == 0) return void(std::fill_n(to, count, *from));
  if (step == 1) return void(std::copy_n(from, count, to));
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

void store(const TensorView& y, int64_t at, int64_t step, const float* from, int64_t count) {
  if (y.type.dtype == DType::kBool) {
    auto* to = static_cast<bool*>(y.data) + at;
    for (int64_t i = 0; i < count; ++i) to[i * step] = from[i] != 0;
    return;
  }
  if (is_half(y.type.dtype)) {
    auto* to = static_cast<uint16_t*>(y.data) + at;
    if (step == 1) return narrow(y.type.dtype, from, to, count);
    for (int64_t i = 0; i < count; ++i) narrow(y.type.dtype, from + i, to + i * step, 1);
    return;
  }
  auto* to = static_cast<float*>(y.data) + at;
  for (int64_t i = 0; i < count; ++i) to[i * step] = from[i];
}

// Computes elements [begin, end). `memory` holds the registers of one thread.
void compute(const Operands& o, const Compiled& program, int64_t begin, int64_t end, float* memory) {
  const size_t num_inputs = o.args.in.size(), num_steps = program.steps.size();
  const auto own = [&](size_t reg) { return memory + static_cast<int64_t>(reg) * kBlock; };
  for (size_t i = 0; i < program.immediates.size(); ++i)
    std::fill_n(own(num_inputs + num_steps + i), kBlock, program.immediates[i]);
  std::array<bool, kMaxInputs> constant{};
  for (size_t i = 0; i < num_inputs; ++i)
    if ((constant[i] = o.is_constant(i))) load(o.args.in[i], 0, 0, own(i), kBlock);
  const TensorView& y = o.args.out[0];
  Cursor cursor(o, begin);
  for (int64_t first = begin; first < end;) {
    int64_t count = std::min(kBlock, end - first);
    if (o.inner >= kLongRow) count = std::min(count, cursor.rest());
    const bool one_row = count <= cursor.rest();
    Cursor of_result = cursor;
    std::array<const float*, kMaxInputs> in{};
    for (size_t i = 0; i < num_inputs; ++i) in[i] = own(i);
    for_each_stretch(cursor, count, [&](const Cursor& c, int64_t in_block, int64_t elements) {
      for (size_t i = 0; i < num_inputs; ++i) {
        if (constant[i]) continue;
        const TensorView& x = o.args.in[i];
        if (one_row && o.step(i) == 1 && x.type.dtype == DType::kF32)
          in[i] = static_cast<const float*>(x.data) + c.at(i);
        else
          load(x, c.at(i), o.step(i), own(i) + in_block, elements);
      }
    });
    float* result = nullptr;
    if (one_row && y.type.dtype == DType::kF32 && (o.step(kY) == 1 || count == 1))
      result = static_cast<float*>(y.data) + of_result.at(kY);
    const auto value = [&](size_t reg) { return reg < num_inputs ? in[reg] : own(reg); };
    for (size_t k = 0; k < num_steps; ++k) {
      const Step& step = program.steps[k];
      float* to = k + 1 == num_steps && result != nullptr ? result : own(num_inputs + k);
      step.fn(value(step.from[0]), value(step.from[1]), value(step.from[2]), to, count);
      if (is_half(step.dtype) && k + 1 < num_steps) round_block(step.dtype, to, count);
    }
    if (result == nullptr)
      for_each_stretch(of_result, count, [&](const Cursor& c, int64_t in_block, int64_t elements) {
        store(y, c.at(kY), o.step(kY), own(num_inputs + num_steps - 1) + in_block, elements);
      });
    first += count;
  }
}

}  // namespace

const char* declines(const ops::Map& op, const Case& c) {
  if (c.in.size() > kMaxInputs) return "more than 12 inputs";
  if (op.program.instructions.empty()) return "the program is empty";
  for (const Operand& operand : c.in)
    if (!is_known(operand.type->dtype)) return "an input is none of f32, f16, bf16 and bool";
  for (const ops::Instruction& instruction : op.program.instructions) {
    if (!is_known(instruction.dtype)) return "a result is none of f32, f16, bf16 and bool";
    if (!function_of(instruction.fn)) return "a function has no vector code";
  }
  return nullptr;
}

size_t scratch_bytes(const ops::Map& op, const Case& c) {
  const size_t registers = num_registers(compile(op.program, c.in), c.in.size());
  return registers * kBlock * sizeof(float) * static_cast<size_t>(c.device.num_threads);
}

Result<KernelState> prepare(const ops::Map& op, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const Compiled>(compile(op.program, c.in)));
}

void run(const ops::Map&, const KernelArgs& args) {
  const auto& program = *static_cast<const Compiled*>(args.state);
  const Operands operands(args);
  const auto thread_floats = static_cast<int64_t>(num_registers(program, args.in.size())) * kBlock;
  constexpr int64_t kGrain = 8192;
  cpu::parallel_for(
      num_elements(args.out[0].type.shape), kGrain, args.num_threads, [&](int64_t begin, int64_t end, int thread) {
        compute(operands, program, begin, end, static_cast<float*>(args.scratch) + thread * thread_floats);
      });
}

}  // namespace plica::map_blocks
