#include "runtime/core/dtype.h"

#include <array>

namespace plica {
namespace {

struct Row {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<Row, 13> kRows = {{{"f32", 4},
                                        {"f64", 8},
                                        {"f16", 2},
                                        {"bf16", 2},
                                        {"bool", 1},
                                        {"i8", 1},
                                        {"i16", 2},
                                        {"i32", 4},
                                        {"i64", 8},
                                        {"u8", 1},
                                        {"u16", 2},
                                        {"u32", 4},
                                        {"u64", 8}}};

}  // namespace

std::string_view name_of(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }
size_t size_of(DType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

float to_float(F16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t exponent = (x.bits >> 10) & 0x1f, mantissa = x.bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

F16 to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000);
  const uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
  if (a >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to 65536 or more
  if (a < 0x38800000) {                                                // subnormal: let the FPU round at 2^-24
    const float magnitude = std::bit_cast<float>(a) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude) - 0x3f000000))};
  }
  const uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return {static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13))};
}

}  // namespace plica
