#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

enum class Activation : uint8_t { kNone, kRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh };
constexpr std::array<std::string_view, 7> names_of(Activation) {
  return {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"};
}

// y = activation(alpha * (a @ b) + bias) * gate + residual, each part where present; gate may be passed through a
// sigmoid first. Batch axes broadcast as NumPy's; ranks are 2 or more (vectors are lowered to matrices). K = 0 gives
// zeros (then bias ...).
//   a         (..., M, K)  f32 | f64 | f16 | bf16 (accumulated in fp32; f64 in f64) | integers (wrapping); any strides
//   b         (..., K, N)  as a; any strides
//   bias      (N)          as a, optional
//   gate      broadcasts to (..., M, N), as a, optional
//   residual  broadcasts to (..., M, N), as a, optional
//   y         (..., M, N)  as a
struct MatMul {
  double alpha = 1;
  Activation activation = Activation::kNone;
  bool gate_sigmoid = false;
  bool operator==(const MatMul&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"alpha", &MatMul::alpha}, Field{"activation", &MatMul::activation},
                      Field{"gate_sigmoid", &MatMul::gate_sigmoid}};
  }
};

}  // namespace plica::ops
