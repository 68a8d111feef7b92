#pragma once

#include <cstdint>
#include <optional>

#include "ops/map.h"
#include "ops/op.h"

namespace plica::cuda {

constexpr int kMapInputs = 8;
constexpr int kMapSlots = 4;
constexpr int kMapCodes = 32;

// Where a code finds an operand: an input, a slot (kFirstSlot + i), a constant, the accumulator, or nowhere.
enum MapSource : uint8_t { kFirstSlot = kMapInputs, kConstant = kFirstSlot + kMapSlots, kAccumulator, kNone };

enum class MapRound : uint8_t { kF32, kF16, kBF16 };

// One step of an accumulator machine on fp32 values (bool as 0 and 1): accumulator = fn(accumulator, source), or of
// Where: accumulator ? source : second; kLoad: accumulator = source; kTruth: accumulator = accumulator != 0.
struct alignas(16) MapCode {
  static constexpr uint8_t kLoad = 255, kTruth = 254;
  uint8_t fn = kLoad;
  uint8_t source = kNone, second = kNone;
  bool swap = false;  // fn(source, accumulator)
  MapRound round = MapRound::kF32;
  uint8_t save = kNone;  // slot that the result also goes to
  float constant = 0, second_constant = 0;
};

struct MapProgram {
  int num_codes = 0;
  MapCode codes[kMapCodes];
};

// The program without casts to f32 of 16 bits, bool or integers that are inputs: values are computed in fp32 anyway.
ops::Program without_widening(const ops::Program& program, const Case& c);

// A program whose values are all f32, f16, bf16 or bool, but for inputs i32 or i64 that become f32 or bool, as codes. `why` says what does not fit, where it returns none.
std::optional<MapProgram> translate(const ops::Program& program, const Case& c, const char** why);

}  // namespace plica::cuda
