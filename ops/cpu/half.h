#pragma once

#include <cstdint>

namespace plica::cpu {

// 16-bit floats, as their bits, to f32 and back to the nearest, ties to even; n adjacent values.
void widen_f16(const uint16_t* x, float* y, int64_t n);
void widen_bf16(const uint16_t* x, float* y, int64_t n);
void narrow_f16(const float* x, uint16_t* y, int64_t n);
void narrow_bf16(const float* x, uint16_t* y, int64_t n);

}  // namespace plica::cpu
