#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "ops/attrs.h"
#include "ops/op.h"

namespace plica::ops {

// The function of an element-wise primitive; also the instruction of a Map program.
//
// Integer Div truncates (x / 0 = 0), integer arithmetic wraps; Mod has the divisor's sign, Fmod the dividend's. Round
// is to even. Min, Max give NaN where either is NaN. Casts of floats to integers truncate; NaN gives 0 and what is out
// of range the nearest value (of 64 bits, then the low bits). Gelu is x/2 (1 + erf(x/sqrt 2)), GeluTanh its tanh form.
enum class Fn : uint8_t {
#define PLICA_POINTWISE(name, inputs, result) k##name,
#include "ops/pointwise_list.inc"
#undef PLICA_POINTWISE
};

enum class FnResult : uint8_t { kSame, kBool, kCast, kSelect };

struct FnDef {
  std::string_view name;
  int num_inputs;
  FnResult result;
};
const FnDef& def_of(Fn fn);

// Attributes of every primitive but Cast: none.
struct Pointwise {
  bool operator==(const Pointwise&) const = default;
  static constexpr auto fields() { return std::tuple{}; }
};

struct Cast {
  DType to = DType::kF32;
  bool operator==(const Cast&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"to", &Cast::to}}; }
};

}  // namespace plica::ops

namespace plica {

std::span<const OpDef> pointwise_ops();  // in the order of ops::Fn
const OpDef& pointwise_op(ops::Fn fn);
bool is_pointwise(const OpDef& op);  // one of pointwise_ops()
ops::Fn fn_of(const OpDef& op);      // of a primitive

}  // namespace plica
