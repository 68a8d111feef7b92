#include "ops/map.h"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "ops/cost.h"
#include "ops/op.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace ops {
namespace {

constexpr DType kUntold = DType::kF32;  // what the text takes an input or an immediate to be

std::string shortest(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

// Operands of an instruction that its function reads.
std::array<int16_t, 3> operands(const Instruction& instruction) {
  return {instruction.a, instruction.b, instruction.c};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      int index = -1;
      if (text[i] == 'x') std::from_chars(text.data() + i + 1, text.data() + text.size(), index);
      program_.num_inputs = std::max(program_.num_inputs, index + 1);
    }
  }

  Result<Program> parse() {
    while (peek() == '%') {
      PLICA_CHECK(take('%'));
      PLICA_TRY(const int name, number<int>("a number"));
      if (name != static_cast<int>(named_.size())) return fail("%" + std::to_string(named_.size()));
      PLICA_CHECK(take('='));
      PLICA_TRY(const Value value, expression());
      PLICA_CHECK(take(';'));
      named_.push_back(value);
    }
    PLICA_TRY(const Value result, expression());
    if (at_ != text_.size()) return fail("the end");
    if (program_.instructions.empty() || result.operand != last_register()) return fail("a call of a function");
    return std::move(program_);
  }

 private:
  struct Value {
    int16_t operand;
    DType dtype;
  };

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  Error fail(const std::string& wanted) const {
    return Error(Code::kInvalidModel, "program \"" + std::string(text_) + "\": at character " + std::to_string(at_) +
                                          " found '" + std::string(text_.substr(at_, 1)) + "', wanted " + wanted);
  }

  Status take(char c) {
    if (peek() != c) return fail("'" + std::string(1, c) + "'");
    ++at_;
    return {};
  }

  template <class T>
  Result<T> number(const char* wanted) {
    T value{};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail(wanted);
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::string_view word() {
    const size_t begin = at_;
    while (std::isalnum(static_cast<unsigned char>(peek()))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int16_t last_register() const {
    return static_cast<int16_t>(program_.num_inputs + static_cast<int>(program_.instructions.size()) - 1);
  }

  Result<Value> expression() {
    if (peek() == 'x') {
      ++at_;
      PLICA_TRY(const int index, number<int>("the number of an input"));
      return Value{static_cast<int16_t>(index), kUntold};
    }
    if (peek() == '%') {
      ++at_;
      PLICA_TRY(const size_t name, number<size_t>("the number of a register"));
      if (name >= named_.size()) return fail("a register named before");
      return named_[name];
    }
    if (peek() >= 'A' && peek() <= 'Z') return call();
    PLICA_TRY(const double value, number<double>("x0, %0, a function or a number"));
    program_.immediates.push_back(value);
    return Value{static_cast<int16_t>(-static_cast<int>(program_.immediates.size())), kUntold};
  }

  Result<Value> call() {
    const std::string_view name = word();
    const OpDef* op = find_op(name);
    if (op == nullptr || !is_pointwise(*op)) return fail("a function in front");
    const Fn fn = fn_of(*op);
    std::optional<DType> dtype;
    if (peek() == ':') {
      ++at_;
      dtype = parse_dtype(word());
      if (!dtype) return fail("a dtype in front");
    }
    std::array<Value, 3> in{};
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      PLICA_CHECK(take(i == 0 ? '(' : ','));
      PLICA_TRY(in[i], expression());
    }
    PLICA_CHECK(take(')'));
    program_.instructions.push_back({fn, dtype.value_or(in[0].dtype), in[0].operand, in[1].operand, in[2].operand});
    return Value{last_register(), program_.instructions.back().dtype};
  }

  std::string_view text_;
  size_t at_ = 0;
  Program program_;
  std::vector<Value> named_;
};

}  // namespace

std::string Program::to_text() const {
  std::vector<int> uses(instructions.size(), 0);
  for (const Instruction& instruction : instructions)
    for (int i = 0; i < def_of(instruction.fn).num_inputs; ++i)
      if (const int from = operands(instruction)[static_cast<size_t>(i)] - num_inputs; from >= 0)
        ++uses[static_cast<size_t>(from)];

  std::string text;
  std::vector<std::string> registers(instructions.size());
  int num_named = 0;
  for (size_t k = 0; k < instructions.size(); ++k) {
    const Instruction& instruction = instructions[k];
    const FnDef& def = def_of(instruction.fn);
    std::string& call = registers[k];
    call = def.name;
    const int first = instruction.a - num_inputs;
    const DType told = first < 0 ? kUntold : instructions[static_cast<size_t>(first)].dtype;
    if (instruction.dtype != told) call.append(":").append(name_of(instruction.dtype));
    for (int i = 0; i < def.num_inputs; ++i) {
      const int operand = operands(instruction)[static_cast<size_t>(i)];
      call.append(i == 0 ? "(" : ",");
      if (operand < 0)
        call.append(shortest(immediates[static_cast<size_t>(-1 - operand)]));
      else if (operand < num_inputs)
        call.append("x").append(std::to_string(operand));
      else
        call.append(registers[static_cast<size_t>(operand - num_inputs)]);
    }
    call.append(")");
    if (k + 1 == instructions.size() || uses[k] == 1) continue;
    const std::string name = "%" + std::to_string(num_named++);
    text.append(name).append("=").append(call).append(";");
    call = name;
  }
  return instructions.empty() ? text : text.append(registers.back());
}

Result<Program> Program::from_text(std::string_view text) { return Parser(text).parse(); }

DType operand_dtype(const Instruction& instruction, size_t i, std::span<const DType> registers) {
  const std::array<int16_t, 3> from = operands(instruction);
  if (from[i] >= 0) return registers[static_cast<size_t>(from[i])];
  if (instruction.fn == Fn::kPow && i == 1) return DType::kF64;
  const FnDef& def = def_of(instruction.fn);
  if (def.result == FnResult::kSelect) return i == 0 ? DType::kBool : instruction.dtype;
  if (def.result == FnResult::kSame) return instruction.dtype;
  for (size_t k = 0; k < static_cast<size_t>(def.num_inputs); ++k)
    if (from[k] >= 0) return registers[static_cast<size_t>(from[k])];
  return DType::kF64;
}

Program program_of(Fn fn, DType dtype) {
  const int num_inputs = def_of(fn).num_inputs;
  return {num_inputs,
          {{fn, dtype, 0, static_cast<int16_t>(num_inputs > 1), static_cast<int16_t>(num_inputs > 2 ? 2 : 0)}},
          {}};
}

}  // namespace ops

namespace {

using ops::FnResult;
using ops::Instruction;

Error broken(const ops::Program& program, size_t k, const char* what) {
  return Error(Code::kInvalidModel,
               "Map: instruction " + std::to_string(k) + " of \"" + program.to_text() + "\" " + what);
}

// Registers are made before they are read, and every instruction has the dtype that its operands give it.
Status check(const ops::Program& program, std::vector<DType> registers) {
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    const Instruction& instruction = program.instructions[k];
    const ops::FnDef& def = ops::def_of(instruction.fn);
    const std::array<int16_t, 3> operands{instruction.a, instruction.b, instruction.c};
    for (size_t i = 0; i < static_cast<size_t>(def.num_inputs); ++i) {
      const int operand = operands[i];
      if (operand >= static_cast<int>(registers.size()) || -1 - operand >= static_cast<int>(program.immediates.size()))
        return broken(program, k, "reads a register that is not there");
      if (operand < 0) continue;
      const DType found = registers[static_cast<size_t>(operand)];
      const bool free = instruction.fn == ops::Fn::kPow && i == 1;
      const bool same = def.result == FnResult::kSame || (def.result == FnResult::kSelect && i > 0);
      if (same && !free && found != instruction.dtype) return broken(program, k, "has operands of another dtype");
    }
    if (def.result == FnResult::kBool && instruction.dtype != DType::kBool)
      return broken(program, k, "is not of dtype bool");
    registers.push_back(instruction.dtype);
  }
  return {};
}

Result<Types> infer(const ops::Map& op, InTypes in) {
  if (op.program.instructions.empty() || op.program.num_inputs != static_cast<int>(in.size()))
    return Error(Code::kInvalidModel, "Map: " + std::to_string(in.size()) + " inputs for the program \"" +
                                          op.program.to_text() + "\", wanted " + std::to_string(op.program.num_inputs) +
                                          " and an instruction or more");
  Shape shape;
  std::vector<DType> registers;
  registers.reserve(in.size() + op.program.instructions.size());
  for (const TensorType* x : in) {
    PLICA_TRY(shape, broadcast(shape, x->shape));
    registers.push_back(x->dtype);
  }
  PLICA_CHECK(check(op.program, std::move(registers)));
  return Types{{op.program.instructions.back().dtype, std::move(shape), {}}};
}

Cost cost(const ops::Map& op, const Case& c) {
  return cost_per_element(c, static_cast<double>(op.program.instructions.size()));
}

void structures(const ops::Map& op, StructureCounts& counts) {
  int gelus = 0;
  for (const Instruction& instruction : op.program.instructions)
    gelus += instruction.fn == ops::Fn::kGelu || instruction.fn == ops::Fn::kGeluTanh;
  if (gelus > 0) counts.emplace_back("gelu", gelus);
}

constexpr std::string_view kInputs[] = {"x..."};

}  // namespace

constinit const OpDef map_op = {
    .name = "Map",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Map>,
    .infer = As<ops::Map>::fn<infer>,
    .cost = As<ops::Map>::fn<cost>,
    .structures = As<ops::Map>::fn<structures>,
};

}  // namespace plica
