#include "tests/harness/random_layers.h"

#include "ops/attrs.h"

namespace plica {

std::string joined(const std::vector<int64_t>& sizes, const char* separator) {
  std::string text;
  for (int64_t size : sizes) text.append(text.empty() ? "" : separator).append(std::to_string(size));
  return text;
}

std::string number(double value) { return to_string(AttrValue(value)); }

std::string RandomLayers::step(const std::string& expression) {
  const std::string made = name();
  add(made + " = " + expression);
  return made;
}

std::string RandomLayers::constant(const Shape& sizes) {
  const std::string made = name();
  add("constant " + made + ": f32 " + joined(sizes, "x"));
  return made;
}

std::string RandomLayers::both(const std::string& op, const std::string& a, const std::string& b) {
  return chance() ? op + "(" + a + ", " + b + ")" : op + "(" + b + ", " + a + ")";
}

std::string RandomLayers::mean(const std::string& x) {
  return "Reduce(" + x + ") {kind=mean, axes=[" + last_axis() + "]}";
}

std::string RandomLayers::square(const std::string& x) {
  return step(chance() ? "Mul(" + x + ", " + x + ")" : "Pow(" + x + ", 2)");
}

std::string RandomLayers::by_deviation(const std::string& x, const std::string& v) {
  const std::string sum = step(both("Add", v, "1e-05"));
  switch (between(0, 3)) {
    case 0: return "Div(" + x + ", Sqrt(" + sum + "))";
    case 1: return both("Mul", x, "Div(1, Sqrt(" + sum + "))");
    case 2: return both("Mul", x, "Pow(" + sum + ", -0.5)");
    default: return both("Mul", "Pow(Sqrt(" + sum + "), -1)", x);
  }
}

std::string RandomLayers::affine(std::string y, bool has_beta) {
  if (chance()) y = step(both("Mul", y, constant({channels_})));
  if (has_beta && chance()) y = step(both("Add", y, constant({channels_})));
  return y;
}

std::string RandomLayers::norm(const std::string& x) {
  if (between(0, 3) == 0) {
    ++structures_["rms_norm"];
    return affine(step(by_deviation(x, step(mean(square(x))))), false);
  }
  ++structures_["layer_norm"];
  if (chance()) return affine(step("LayerNorm(" + x + ", _, _) {eps=1e-05}"), true);
  const std::string m = step(mean(x)), d = step("Sub(" + x + ", " + m + ")"), v = step(mean(square(d)));
  return affine(step(by_deviation(d, v)), true);
}

std::string RandomLayers::linear(const std::string& x, int64_t from, int64_t to) {
  const bool flat = between(0, 2) == 0;
  int64_t rows = length_;
  for (int64_t size : lead_) rows *= size;
  const std::string a = flat ? step("Reshape(" + x + ") {shape=[" + joined({rows, from}, ",") + "]}") : x;
  std::string y = step("MatMul(" + a + ", " + constant({from, to}) + ")");
  if (chance()) y = step(both("Add", y, constant({to})));
  return flat ? step("Reshape(" + y + ") {shape=[" + joined(shape(to), ",") + "]}") : y;
}

std::string RandomLayers::activation(const std::string& x) {
  switch (between(0, 5)) {
    case 0: return step("Relu(" + x + ")");
    case 1: return step(both("Mul", x, "Sigmoid(" + x + ")"));
    case 2: ++structures_["gelu"]; return step("Gelu(" + x + ")");
    case 3: {
      ++structures_["gelu"];
      const std::string u = chance() ? "Div(" + x + ", 1.41421356)" : both("Mul", x, "0.70710678");
      const std::string erf = step(both("Add", "Erf(" + u + ")", "1"));
      return step(chance() ? both("Mul", both("Mul", x, erf), "0.5") : both("Mul", both("Mul", x, "0.5"), erf));
    }
    case 4: {
      ++structures_["gelu"];
      const std::string cube = chance() ? "Pow(" + x + ", 3)" : "Mul(" + x + ", Mul(" + x + ", " + x + "))";
      const std::string u = step(both("Mul", both("Add", x, both("Mul", cube, "0.044715")), "0.797884561"));
      return step(both("Mul", both("Mul", x, both("Add", "Tanh(" + u + ")", "1")), "0.5"));
    }
    default: return x;
  }
}

std::string RandomLayers::residual(const std::string& x, const std::string& y) {
  return chance() ? step(both("Add", x, y)) : y;
}

std::string RandomLayers::scaled(const std::string& x, double scale) {
  return step(chance() ? both("Mul", x, number(scale)) : "Div(" + x + ", " + number(1 / scale) + ")");
}

std::string RandomLayers::permuted(const std::string& x, const Shape& last) {
  Shape perm;
  const auto at = static_cast<int64_t>(lead_.size());
  for (int64_t i = 0; i < at; ++i) perm.push_back(i);
  for (int64_t axis : last) perm.push_back(at + axis);
  return step("Transpose(" + x + ") {perm=[" + joined(perm, ",") + "]}");
}

std::string RandomLayers::transition(const std::string& x) {
  const int64_t wide = channels_ * between(1, 3);
  const std::string hidden = activation(linear(chance() ? norm(x) : x, channels_, wide));
  return residual(x, linear(hidden, wide, channels_));
}

std::string RandomLayers::gated(const std::string& x) {
  return step(both("Mul", linear(x, channels_, channels_), "Sigmoid(" + linear(x, channels_, channels_) + ")"));
}

}  // namespace plica
