#include "ops/cuda/map_code.h"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

using ops::Fn;
using ops::FnResult;
using ops::Instruction;

bool is_small(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kBool;
}

bool is_index(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

// Whether input `index`, an integer, is only asked for as f32 or as bool: both are the same of the nearest f32.
bool is_read_as_float(const ops::Program& program, size_t index) {
  return std::all_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& instruction) {
    const auto operands = std::array<int, 3>{instruction.a, instruction.b, instruction.c};
    const auto count = static_cast<size_t>(ops::def_of(instruction.fn).num_inputs);
    const bool reads =
        std::find(operands.begin(), operands.begin() + count, static_cast<int>(index)) != operands.begin() + count;
    return !reads ||
           (instruction.fn == Fn::kCast && (instruction.dtype == DType::kF32 || instruction.dtype == DType::kBool));
  });
}

bool is_bitwise(Fn fn) {
  return fn == Fn::kBitAnd || fn == Fn::kBitNot || fn == Fn::kBitOr || fn == Fn::kBitXor || fn == Fn::kShiftLeft ||
         fn == Fn::kShiftRight;
}

// Whether swapped operands give the same bits.
bool commutes(Fn fn) {
  return fn == Fn::kAdd || fn == Fn::kMul || fn == Fn::kEqual || fn == Fn::kAnd || fn == Fn::kOr || fn == Fn::kXor;
}

MapRound round_of(DType dtype) {
  return dtype == DType::kF16 ? MapRound::kF16 : dtype == DType::kBF16 ? MapRound::kBF16 : MapRound::kF32;
}

class Translator {
 public:
  // `wide`: inputs count as f32 beside immediates. `as_float`: of each input, whether it may be an integer.
  Translator(const ops::Program& program, const Case& c, bool wide, std::vector<bool> as_float)
      : program_(program), num_inputs_(program.num_inputs), wide_(wide), as_float_(std::move(as_float)) {
    for (const Operand& operand : c.in) dtypes_.push_back(operand.type->dtype);
    for (const Instruction& instruction : program.instructions) dtypes_.push_back(instruction.dtype);
    slot_of_.assign(program.instructions.size(), kNone);
    last_use_.assign(program.instructions.size(), -1);
    needs_slot_.assign(program.instructions.size(), false);
  }

  const char* why() const {
    if (num_inputs_ > kMapInputs) return "more than 8 inputs";
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      const bool as_float = i < static_cast<size_t>(num_inputs_) && is_index(dtypes_[i]) && as_float_[i];
      if (!is_small(dtypes_[i]) && !as_float) return "values that fp32 does not hold";
    }
    for (const Instruction& instruction : program_.instructions) {
      if (is_bitwise(instruction.fn)) return "functions of bits";
      if (instruction.dtype == DType::kBool && ops::def_of(instruction.fn).result == FnResult::kSame)
        return "arithmetic of bool";
    }
    return nullptr;
  }

  const char* run(MapProgram& out) {
    find_uses();
    for (size_t k = 0; k < program_.instructions.size(); ++k)
      if (const char* why = emit(k, out)) return why;
    return nullptr;
  }

 private:
  int operand(const Instruction& instruction, size_t i) const {
    return std::array<int, 3>{instruction.a, instruction.b, instruction.c}[i];
  }
  size_t num_operands(const Instruction& instruction) const {
    return static_cast<size_t>(ops::def_of(instruction.fn).num_inputs);
  }
  // Which operand of instruction k the accumulator holds when it starts (the result before), or -1.
  int in_accumulator(size_t k) const {
    const Instruction& instruction = program_.instructions[k];
    if (k == 0) return -1;
    const int previous = num_inputs_ + static_cast<int>(k) - 1;
    const size_t candidates = instruction.fn == Fn::kWhere ? 1 : num_operands(instruction);
    for (size_t i = 0; i < candidates; ++i)
      if (operand(instruction, i) == previous) return static_cast<int>(i);
    return -1;
  }

  void find_uses() {
    for (size_t k = 0; k < program_.instructions.size(); ++k) {
      const Instruction& instruction = program_.instructions[k];
      const int held = in_accumulator(k);
      for (size_t i = 0; i < num_operands(instruction); ++i) {
        const int from = operand(instruction, i) - num_inputs_;
        if (operand(instruction, i) < 0 || from < 0) continue;
        last_use_[static_cast<size_t>(from)] = static_cast<int>(k);
        const bool free = held >= 0 && operand(instruction, i) == operand(instruction, static_cast<size_t>(held)) &&
                          (instruction.fn != Fn::kWhere || i == 0);
        if (!free) needs_slot_[static_cast<size_t>(from)] = true;
      }
    }
  }

  // The dtype of an immediate: the result's, or where that is bool, that of the operand beside it.
  DType immediate_dtype(const Instruction& instruction) const {
    if (ops::def_of(instruction.fn).result != FnResult::kBool) return instruction.dtype;
    for (size_t i = 0; i < num_operands(instruction); ++i)
      if (const int from = operand(instruction, i); from >= 0)
        return wide_ && from < num_inputs_ ? DType::kF32 : dtypes_[static_cast<size_t>(from)];
    return DType::kF32;
  }
  float immediate(const Instruction& instruction, int operand_index) const {
    const auto value = static_cast<float>(program_.immediates[static_cast<size_t>(-1 - operand_index)]);
    const DType dtype = immediate_dtype(instruction);
    if (instruction.fn == Fn::kPow) return value;
    return dtype == DType::kF16 ? to_float(to_f16(value)) : dtype == DType::kBF16 ? to_float(to_bf16(value)) : value;
  }

  uint8_t source(const Instruction& instruction, size_t i, float& constant) const {
    const int from = operand(instruction, i);
    if (from < 0) {
      constant = immediate(instruction, from);
      return kConstant;
    }
    if (from < num_inputs_) return static_cast<uint8_t>(from);
    return slot_of_[static_cast<size_t>(from - num_inputs_)];
  }

  const char* emit(size_t k, MapProgram& out) {
    const Instruction& instruction = program_.instructions[k];
    int held = in_accumulator(k);
    if (held < 0) {
      MapCode load;
      load.source = source(instruction, 0, load.constant);
      if (!push(load, out)) return "more than 32 steps";
      held = 0;
    }
    MapCode code;
    code.fn = static_cast<uint8_t>(instruction.fn);
    if (instruction.fn == Fn::kCast && instruction.dtype == DType::kBool) code.fn = MapCode::kTruth;
    const size_t count = num_operands(instruction);
    if (count == 2) {
      const size_t other = 1 - static_cast<size_t>(held);
      const bool same = operand(instruction, 0) == operand(instruction, 1) && operand(instruction, 0) >= 0;
      code.source = same ? uint8_t{kAccumulator} : source(instruction, other, code.constant);
      code.swap = held == 1 && !commutes(instruction.fn);
      if (instruction.fn == Fn::kPow && held == 0 && code.source == kConstant && code.constant == 2) {
        code.fn = static_cast<uint8_t>(Fn::kMul);
        code.source = kAccumulator;
      }
    } else if (count == 3) {
      code.source = source(instruction, 1, code.constant);
      code.second = source(instruction, 2, code.second_constant);
    }
    code.round = round_of(instruction.dtype);
    release(static_cast<int>(k));
    if (needs_slot_[k]) {
      const auto slot = free_slot();
      if (slot == kNone) return "more than 4 values at once";
      code.save = slot_of_[k] = slot;
      taken_[slot - kFirstSlot] = true;
    }
    return push(code, out) ? nullptr : "more than 32 steps";
  }

  bool push(const MapCode& code, MapProgram& out) const {
    if (out.num_codes == kMapCodes) return false;
    out.codes[out.num_codes++] = code;
    return true;
  }

  // Slots of values that nothing behind instruction k reads.
  void release(int k) {
    for (size_t i = 0; i < slot_of_.size(); ++i)
      if (slot_of_[i] != kNone && last_use_[i] <= k) {
        taken_[slot_of_[i] - kFirstSlot] = false;
        slot_of_[i] = kNone;
      }
  }
  uint8_t free_slot() const {
    for (int i = 0; i < kMapSlots; ++i)
      if (!taken_[static_cast<size_t>(i)]) return static_cast<uint8_t>(kFirstSlot + i);
    return kNone;
  }

  const ops::Program& program_;
  int num_inputs_;
  bool wide_;
  std::vector<bool> as_float_;
  std::vector<DType> dtypes_;
  std::vector<uint8_t> slot_of_;  // one an instruction
  std::vector<int> last_use_;
  std::vector<bool> needs_slot_;
  std::array<bool, kMapSlots> taken_{};
};

}  // namespace

ops::Program without_widening(const ops::Program& program, const Case& c) {
  ops::Program plain = program;
  plain.instructions.clear();
  std::vector<DType> dtypes;
  std::vector<int16_t> stands_for;  // register of `program` -> of `plain`
  for (size_t i = 0; i < c.in.size(); ++i) {
    dtypes.push_back(c.in[i].type->dtype);
    stands_for.push_back(static_cast<int16_t>(i));
  }
  for (size_t k = 0; k < program.instructions.size(); ++k) {
    Instruction instruction = program.instructions[k];
    dtypes.push_back(instruction.dtype);
    const bool last = k + 1 == program.instructions.size();
    const auto widens = [&](int from) {
      const DType dtype = dtypes[static_cast<size_t>(from)];
      return is_small(dtype) || (from < program.num_inputs && is_index(dtype));
    };
    if (instruction.fn == Fn::kCast && instruction.dtype == DType::kF32 && !last && instruction.a >= 0 &&
        widens(instruction.a)) {
      stands_for.push_back(stands_for[static_cast<size_t>(instruction.a)]);
      continue;
    }
    for (int16_t* operand : {&instruction.a, &instruction.b, &instruction.c})
      if (*operand >= 0) *operand = stands_for[static_cast<size_t>(*operand)];
    stands_for.push_back(static_cast<int16_t>(program.num_inputs + static_cast<int>(plain.instructions.size())));
    plain.instructions.push_back(instruction);
  }
  return plain;
}

std::optional<MapProgram> translate(const ops::Program& program, const Case& c, const char** why) {
  const ops::Program plain = without_widening(program, c);
  std::vector<bool> as_float;
  for (size_t i = 0; i < c.in.size(); ++i) as_float.push_back(is_read_as_float(program, i));
  Translator translator(plain, c, plain.instructions.size() < program.instructions.size(), std::move(as_float));
  MapProgram out;
  *why = translator.why();
  if (*why == nullptr) *why = translator.run(out);
  if (*why != nullptr) return std::nullopt;
  return out;
}

}  // namespace plica::cuda
