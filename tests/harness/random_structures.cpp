// Long because all idioms are in one place.
#include "tests/harness/random_structures.h"

#include <cmath>
#include <random>
#include <vector>

#include "ops/attrs.h"

namespace plica {
namespace {

using Shape = std::vector<int64_t>;

std::string joined(const Shape& sizes, const char* separator) {
  std::string text;
  for (int64_t size : sizes) text.append(text.empty() ? "" : separator).append(std::to_string(size));
  return text;
}

std::string number(double value) { return to_string(AttrValue(value)); }

constexpr int64_t kPairChannels = 4;

class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  RandomStructures write() {
    lead_.assign(static_cast<size_t>(between(1, 2)), 0);
    for (int64_t& size : lead_) size = between(1, 3);
    length_ = between(1, 9);
    channels_ = 4 * between(1, 5);
    add("input x: f32 " + joined(shape(channels_), "x"));
    add("input pair: f32 " + joined({length_, length_, kPairChannels}, "x"));
    std::string x = step("Sin(Mul(x, 0.37))");
    pair_ = step("Cos(Mul(pair, 0.61))");
    for (int64_t blocks = between(1, 4); blocks > 0; --blocks) x = block(blocks % 2 == 0 ? step("Sin(" + x + ")") : x);
    add("output " + x);
    for (const std::string& weights : weights_) add("output " + weights);
    return {std::move(text_), std::move(structures_)};
  }

 private:
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint32_t>(most - least + 1));
  }
  bool chance() { return random_() % 2 == 0; }

  void add(const std::string& line) { text_ += line + "\n"; }
  std::string name() { return "t" + std::to_string(num_names_++); }

  std::string step(const std::string& expression) {
    const std::string made = name();
    add(made + " = " + expression);
    return made;
  }

  std::string constant(const Shape& sizes) {
    const std::string made = name();
    add("constant " + made + ": f32 " + joined(sizes, "x"));
    return made;
  }

  Shape shape(int64_t columns) const {
    Shape sizes = lead_;
    sizes.push_back(length_);
    sizes.push_back(columns);
    return sizes;
  }
  std::string last_axis() const { return std::to_string(lead_.size() + 1); }

  std::string block(const std::string& x) {
    switch (between(0, 5)) {
      case 0: return transition(x);
      case 1: return chance() ? norm(x) : gated(x);
      case 2: return lead_.size() == 2 ? outer_product_mean(x) : attention(x);
      default: return attention(x);
    }
  }

  // The operands of a commutative operator in one of their orders.
  std::string both(const std::string& op, const std::string& a, const std::string& b) {
    return chance() ? op + "(" + a + ", " + b + ")" : op + "(" + b + ", " + a + ")";
  }

  std::string mean(const std::string& x) { return "Reduce(" + x + ") {kind=mean, axes=[" + last_axis() + "]}"; }
  std::string square(const std::string& x) {
    return step(chance() ? "Mul(" + x + ", " + x + ")" : "Pow(" + x + ", 2)");
  }

  // x / sqrt(v + eps)
  std::string by_deviation(const std::string& x, const std::string& v) {
    const std::string sum = step(both("Add", v, "1e-05"));
    switch (between(0, 3)) {
      case 0: return "Div(" + x + ", Sqrt(" + sum + "))";
      case 1: return both("Mul", x, "Div(1, Sqrt(" + sum + "))");
      case 2: return both("Mul", x, "Pow(" + sum + ", -0.5)");
      default: return both("Mul", "Pow(Sqrt(" + sum + "), -1)", x);
    }
  }

  std::string affine(std::string y, bool has_beta) {
    if (chance()) y = step(both("Mul", y, constant({channels_})));
    if (has_beta && chance()) y = step(both("Add", y, constant({channels_})));
    return y;
  }

  std::string norm(const std::string& x) {
    if (between(0, 3) == 0) {
      ++structures_["rms_norm"];
      return affine(step(by_deviation(x, step(mean(square(x))))), false);
    }
    ++structures_["layer_norm"];
    if (chance()) return affine(step("LayerNorm(" + x + ", _, _) {eps=1e-05}"), true);
    const std::string m = step(mean(x)), d = step("Sub(" + x + ", " + m + ")"), v = step(mean(square(d)));
    return affine(step(by_deviation(d, v)), true);
  }

  std::string linear(const std::string& x, int64_t from, int64_t to) {
    const bool flat = between(0, 2) == 0;
    int64_t rows = length_;
    for (int64_t size : lead_) rows *= size;
    const std::string a = flat ? step("Reshape(" + x + ") {shape=[" + joined({rows, from}, ",") + "]}") : x;
    std::string y = step("MatMul(" + a + ", " + constant({from, to}) + ")");
    if (chance()) y = step(both("Add", y, constant({to})));
    return flat ? step("Reshape(" + y + ") {shape=[" + joined(shape(to), ",") + "]}") : y;
  }

  std::string activation(const std::string& x) {
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

  std::string residual(const std::string& x, const std::string& y) { return chance() ? step(both("Add", x, y)) : y; }

  std::string transition(const std::string& x) {
    const int64_t wide = channels_ * between(1, 3);
    const std::string hidden = activation(linear(chance() ? norm(x) : x, channels_, wide));
    return residual(x, linear(hidden, wide, channels_));
  }

  std::string gated(const std::string& x) {
    return step(both("Mul", linear(x, channels_, channels_), "Sigmoid(" + linear(x, channels_, channels_) + ")"));
  }

  // [.., length, heads * width] to [.., heads, length, width], or with the last two the other way.
  std::string split(const std::string& x, int64_t heads, int64_t width, bool transposed) {
    Shape sizes = lead_, perm;
    for (int64_t size : {length_, heads, width}) sizes.push_back(size);
    const auto at = static_cast<int64_t>(lead_.size());
    for (int64_t i = 0; i < at; ++i) perm.push_back(i);
    const bool twice = transposed && chance();
    for (int64_t axis : transposed && !twice ? Shape{at + 1, at + 2, at} : Shape{at + 1, at, at + 2})
      perm.push_back(axis);
    const std::string cut = step("Reshape(" + x + ") {shape=[" + joined(sizes, ",") + "]}");
    std::string y = step("Transpose(" + cut + ") {perm=[" + joined(perm, ",") + "]}");
    if (!twice) return y;
    for (int64_t i = 0; i < 3; ++i) perm[static_cast<size_t>(at + i)] = at + (i == 0 ? 0 : 3 - i);
    return step("Transpose(" + y + ") {perm=[" + joined(perm, ",") + "]}");
  }

  std::string scaled(const std::string& x, double scale) {
    return step(chance() ? both("Mul", x, number(scale)) : "Div(" + x + ", " + number(1 / scale) + ")");
  }

  // The vectors of q, k and v: products of their own, or cut out of one.
  std::vector<std::string> projections(const std::string& x, int64_t columns) {
    if (chance()) return {linear(x, channels_, columns), linear(x, channels_, columns), linear(x, channels_, columns)};
    const std::string all = linear(x, channels_, 3 * columns);
    std::vector<std::string> parts;
    const Shape sizes = shape(columns), steps(sizes.size(), 1);
    for (int64_t i = 0; i < 3; ++i) {
      Shape starts(sizes.size(), 0);
      starts.back() = i * columns;
      parts.push_back(step("Slice(" + all + ") {starts=[" + joined(starts, ",") + "], sizes=[" + joined(sizes, ",") +
                           "], steps=[" + joined(steps, ",") + "]}"));
    }
    return parts;
  }

  // A bias from the pair representation, [heads, length, length].
  std::string pair_bias(int64_t heads) {
    std::string z = pair_;
    if (chance()) {
      ++structures_["layer_norm"];
      z = step("LayerNorm(" + z + ", " + constant({kPairChannels}) + ", _) {eps=1e-05}");  // no two are equal
    }
    const std::string b = step("MatMul(" + z + ", " + constant({kPairChannels, heads}) + ")");
    const std::string y = step("Transpose(" + b + ") {perm=[2,0,1]}");
    if (chance()) return y;
    Shape sizes(lead_.size(), 1);
    for (int64_t size : {heads, length_, length_}) sizes.push_back(size);
    return step("Reshape(" + y + ") {shape=[" + joined(sizes, ",") + "]}");
  }

  // Of two projections of x (batch, rows, length, channels): products of all pairs of places, summed over the rows.
  std::string outer_product_mean(const std::string& x) {
    ++structures_["outer_product_mean"];
    const int64_t batch = lead_[0], rows = lead_[1], n = length_, least = n == 1 ? 2 : 1, left = between(least, 4),
                  right = between(least, 5);
    const std::string m = chance() ? norm(x) : x, a = linear(m, channels_, left), b = linear(m, channels_, right);
    const std::string at = step("Transpose(" + a + ") {perm=[0,2,3,1]}");
    const std::string p = step("MatMul(Reshape(" + at + ") {shape=[" + joined({batch, n * left, rows}, ",") +
                               "]}, Reshape(" + b + ") {shape=[" + joined({batch, rows, n * right}, ",") + "]})");
    const std::string cut = step("Reshape(" + p + ") {shape=[" + joined({batch, n, left, n, right}, ",") + "]}");
    const char* orders[] = {"[0,1,3,2,4]", "[0,1,3,4,2]", "[0,3,1,2,4]", "[0,3,1,4,2]"};
    std::string o = step("Transpose(" + cut + ") {perm=" + orders[between(0, 3)] + "}");
    o = step("Reshape(" + o + ") {shape=[" + joined({batch, n, n, left * right}, ",") + "]}");
    if (chance()) o = scaled(o, 1 / static_cast<double>(rows));
    std::string z = step("MatMul(" + o + ", " + constant({left * right, channels_}) + ")");
    if (chance()) z = step(both("Add", z, constant({channels_})));
    z = step("Reduce(" + z + ") {kind=mean, axes=[1]}");
    return step(both("Add", x, z));
  }

  // Scores with their scale in one of its places.
  std::string scores(std::string q, std::string k, int64_t width) {
    const double scale = 1 / std::sqrt(static_cast<double>(width));
    const auto where = between(0, 3);
    if (where == 0) q = scaled(q, scale);
    if (where == 1) {
      q = step(both("Mul", q, number(std::sqrt(scale))));
      k = step(both("Mul", k, number(std::sqrt(scale))));
    }
    const std::string s = step("MatMul(" + q + ", " + k + ")");
    return where == 2 ? scaled(s, scale) : s;
  }

  // A condition that is true for about three of four.
  std::string kept(const Shape& sizes) { return step("Less(" + constant(sizes) + ", 0.5)"); }

  std::string masked(const std::string& s, int64_t heads) {
    Shape keys(lead_.size() + 3, 1), all = lead_;
    keys.front() = lead_.front();
    keys.back() = length_;
    for (int64_t size : {int64_t{1}, length_, length_}) all.push_back(size);
    const char* fills[] = {"-1e9", "-10000.0", "-3.4028235e38"};
    const std::string fill = fills[between(0, 2)];
    switch (between(0, 4)) {
      case 0: return step("Where(" + kept(keys) + ", " + s + ", " + fill + ")");
      case 1: return step("Where(Not(" + kept(all) + "), " + fill + ", " + s + ")");
      case 2: return step(both("Add", s, both("Mul", "Sub(1, Cast(" + kept(keys) + ") {to=f32})", fill)));
      case 3: return step(both("Add", s, constant({heads, length_, length_})));
      default: return s;
    }
  }

  std::string merged(const std::string& o, int64_t columns) {
    Shape perm;
    const auto at = static_cast<int64_t>(lead_.size());
    for (int64_t i = 0; i < at; ++i) perm.push_back(i);
    for (int64_t axis : {at + 1, at, at + 2}) perm.push_back(axis);
    const std::string back = step("Transpose(" + o + ") {perm=[" + joined(perm, ",") + "]}");
    return step("Reshape(" + back + ") {shape=[" + joined(shape(columns), ",") + "]}");
  }

  std::string capped(const std::string& s) { return step(both("Mul", "Tanh(" + both("Mul", s, "0.2") + ")", "5")); }

  // The leading axes as they are, the last three permuted.
  std::string permuted(const std::string& x, const Shape& last) {
    Shape perm;
    const auto at = static_cast<int64_t>(lead_.size());
    for (int64_t i = 0; i < at; ++i) perm.push_back(i);
    for (int64_t axis : last) perm.push_back(at + axis);
    return step("Transpose(" + x + ") {perm=[" + joined(perm, ",") + "]}");
  }

  // Scores (.., heads, length, length) that had their heads last for a while.
  std::string turned(const std::string& s, bool has_bias) {
    std::string t = permuted(s, {1, 2, 0});
    if (has_bias) t = step(both("Add", t, constant({length_, length_, 1})));
    return permuted(t, {2, 0, 1});
  }

  // The product of v and the weights of scores: some of these are on its right, some are an output too.
  std::string weighed(const std::string& s, const std::string& v) {
    const std::string p = step("Softmax(" + s + ")");
    if (between(0, 5) == 0) weights_.push_back(p);
    if (between(0, 3) != 0) return step("MatMul(" + p + ", " + v + ")");
    return permuted(step("MatMul(" + permuted(v, {0, 2, 1}) + ", " + permuted(p, {0, 2, 1}) + ")"), {0, 2, 1});
  }

  // Every step-th element of the last of the axes (.., heads, length, width) from start on: half of them.
  std::string half(const std::string& x, int64_t heads, int64_t width, int64_t start, int64_t by) {
    Shape sizes = lead_, starts(lead_.size() + 3, 0), steps(lead_.size() + 3, 1);
    for (int64_t size : {heads, length_, width / 2}) sizes.push_back(size);
    starts.back() = start;
    steps.back() = by;
    return step("Slice(" + x + ") {starts=[" + joined(starts, ",") + "], sizes=[" + joined(sizes, ",") + "], steps=[" +
                joined(steps, ",") + "]}");
  }

  // a and b side by side, or pair by pair.
  std::string joined_halves(std::string a, std::string b, int64_t heads, int64_t width, bool pairs) {
    Shape sizes = lead_;
    for (int64_t size : {heads, length_, width / 2}) sizes.push_back(size);
    const std::string axis = std::to_string(sizes.size() - (pairs ? 0 : 1));
    if (pairs) {
      const std::string column = ") {shape=[" + joined(sizes, ",") + ",1]}";
      a = step("Reshape(" + a + column);
      b = step("Reshape(" + b + column);
    }
    const std::string y = step("Concat(" + a + ", " + b + ") {axis=" + axis + "}");
    if (!pairs) return y;
    sizes.back() = width;
    return step("Reshape(" + y + ") {shape=[" + joined(sizes, ",") + "]}");
  }

  // Rotary embedding of x (.., heads, length, width) by tables of whole rows, or of half of each.
  std::string rotated(const std::string& x, int64_t heads, int64_t width, bool pairs, bool whole) {
    const std::string a = half(x, heads, width, 0, pairs ? 2 : 1),
                      b = half(x, heads, width, pairs ? 1 : width / 2, pairs ? 2 : 1);
    const Shape table{length_, whole ? width : width / 2};
    const std::string c = constant(table), s = constant(table);
    if (whole) {
      const std::string turned = joined_halves(step("Neg(" + b + ")"), a, heads, width, pairs);
      return step(both("Add", both("Mul", x, c), both("Mul", turned, s)));
    }
    const std::string first = step("Sub(" + both("Mul", a, c) + ", " + both("Mul", b, s) + ")");
    const std::string second = step(both("Add", both("Mul", a, s), both("Mul", b, c)));
    return joined_halves(first, second, heads, width, pairs);
  }

  std::string attention(const std::string& x) {
    ++structures_["attention"];
    const int64_t heads = between(1, 4), width = between(2, 9), columns = heads * width;
    const std::string n = chance() ? norm(x) : x;
    const std::vector<std::string> qkv = projections(n, columns);
    const bool is_rotated = width % 2 == 0 && chance(), pairs = chance(), whole = chance();
    std::string q = split(qkv[0], heads, width, false), k = split(qkv[1], heads, width, !is_rotated);
    if (is_rotated) {
      ++structures_["rotary"];
      q = rotated(q, heads, width, pairs, whole);
      k = permuted(rotated(k, heads, width, pairs, whole), {0, 2, 1});
    }
    const std::string v = split(qkv[2], heads, width, false);
    std::string s = scores(q, k, width);
    if (between(0, 5) == 0) s = capped(s);
    if (chance()) s = step(both("Add", s, pair_bias(heads)));
    if (between(0, 3) == 0) s = turned(s, chance());
    s = masked(s, heads);
    std::string o = merged(weighed(between(0, 3) == 0 ? turned(s, false) : s, v), columns);
    if (chance()) o = step(both("Mul", o, "Sigmoid(" + linear(n, channels_, columns) + ")"));
    return residual(x, linear(o, columns, channels_));
  }

  std::mt19937 random_;
  std::string text_;
  std::map<std::string, int> structures_;
  Shape lead_;
  int64_t length_ = 1, channels_ = 4;
  std::string pair_;
  std::vector<std::string> weights_;  // of attention, outputs beside the activations
  int num_names_ = 0;
};

}  // namespace

RandomStructures random_structures(uint32_t seed) { return Writer(seed).write(); }

}  // namespace plica
