#include "tests/harness/random_attention.h"

#include <cmath>

namespace plica {

std::string RandomAttention::split(const std::string& x, int64_t heads, int64_t width, bool transposed) {
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

std::vector<std::string> RandomAttention::projections(const std::string& x, int64_t columns) {
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

std::string RandomAttention::pair_bias(int64_t heads) {
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

std::string RandomAttention::scores(std::string q, std::string k, int64_t width) {
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

std::string RandomAttention::kept(const Shape& sizes) { return step("Less(" + constant(sizes) + ", 0.5)"); }

std::string RandomAttention::masked(const std::string& s, int64_t heads) {
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
    case 3: is_biased_ = true; return step(both("Add", s, constant({heads, length_, length_})));
    default: return s;
  }
}

std::string RandomAttention::merged(const std::string& o, int64_t columns) {
  Shape perm;
  const auto at = static_cast<int64_t>(lead_.size());
  for (int64_t i = 0; i < at; ++i) perm.push_back(i);
  for (int64_t axis : {at + 1, at, at + 2}) perm.push_back(axis);
  const std::string back = step("Transpose(" + o + ") {perm=[" + joined(perm, ",") + "]}");
  return step("Reshape(" + back + ") {shape=[" + joined(shape(columns), ",") + "]}");
}

std::string RandomAttention::capped(const std::string& s) {
  return step(both("Mul", "Tanh(" + both("Mul", s, "0.2") + ")", "5"));
}

std::string RandomAttention::turned(const std::string& s, bool has_bias) {
  std::string t = permuted(s, {1, 2, 0});
  if (has_bias) t = step(both("Add", t, constant({length_, length_, 1})));
  return permuted(t, {2, 0, 1});
}

std::string RandomAttention::weighed(const std::string& s, const std::string& v) {
  const std::string p = step("Softmax(" + s + ")");
  if (between(0, 5) == 0) {
    weights_.push_back(p);
    ++structures_["attention_weights_out"];
  }
  if (between(0, 3) != 0) return step("MatMul(" + p + ", " + v + ")");
  return permuted(step("MatMul(" + permuted(v, {0, 2, 1}) + ", " + permuted(p, {0, 2, 1}) + ")"), {0, 2, 1});
}

std::string RandomAttention::half(const std::string& x, int64_t heads, int64_t width, int64_t start, int64_t by) {
  Shape sizes = lead_, starts(lead_.size() + 3, 0), steps(lead_.size() + 3, 1);
  for (int64_t size : {heads, length_, width / 2}) sizes.push_back(size);
  starts.back() = start;
  steps.back() = by;
  return step("Slice(" + x + ") {starts=[" + joined(starts, ",") + "], sizes=[" + joined(sizes, ",") + "], steps=[" +
              joined(steps, ",") + "]}");
}

std::string RandomAttention::joined_halves(std::string a, std::string b, int64_t heads, int64_t width, bool pairs) {
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

std::string RandomAttention::rotated(const std::string& x, int64_t heads, int64_t width, bool pairs, bool whole) {
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

std::string RandomAttention::attention(const std::string& x) {
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
  is_biased_ = false;
  if (chance()) {
    s = step(both("Add", s, pair_bias(heads)));
    is_biased_ = true;
  }
  if (between(0, 3) == 0) s = turned(s, chance());
  s = masked(s, heads);
  if (is_biased_ && heads > 1 && length_ > 1) ++structures_["biased"];
  std::string o = merged(weighed(between(0, 3) == 0 ? turned(s, false) : s, v), columns);
  if (chance()) {
    o = step(both("Mul", o, "Sigmoid(" + linear(n, channels_, columns) + ")"));
    ++structures_["gated"];
  }
  return residual(x, linear(o, columns, channels_));
}

std::string RandomAttention::tied_attention(const std::string& x) {
  ++structures_["attention"];
  ++structures_["tied_row_attention"];
  const int64_t batch = lead_[0], rows = lead_[1], heads = between(2, 4), width = between(2, 5),
                columns = heads * width;
  const std::string n = chance() ? norm(x) : x;
  const std::vector<std::string> qkv = projections(n, columns);
  const std::string cut = ") {shape=[" + joined({batch, rows, length_, heads, width}, ",") + "]}";
  const std::string flat = ") {shape=[" + joined({batch, heads, length_, rows * width}, ",") + "]}";
  const auto together = [&](const std::string& y) {
    return step("Reshape(Transpose(Reshape(" + y + cut + ") {perm=[0,3,2,1,4]}" + flat);
  };
  const std::string k = "Transpose(" + together(qkv[1]) + ") {perm=[0,1,3,2]}";
  std::string s = step("MatMul(" + together(qkv[0]) + ", " + k + ")");
  s = scaled(s, 1 / std::sqrt(static_cast<double>(width * rows)));
  if (chance()) s = step("Where(" + kept({batch, 1, 1, length_}) + ", " + s + ", -10000.0)");
  const std::string p = step("Softmax(" + s + ")");
  if (between(0, 3) == 0) {
    ++structures_["attention_weights_out"];
    weights_.push_back(p);
  }
  const std::string o = step("MatMul(" + p + ", " + together(qkv[2]) + ")");
  const std::string back =
      step("Reshape(Transpose(Reshape(" + o + ") {shape=[" + joined({batch, heads, length_, rows, width}, ",") +
           "]}) {perm=[0,3,2,1,4]}) {shape=[" + joined(shape(columns), ",") + "]}");
  return residual(x, linear(back, columns, channels_));
}

std::string RandomAttention::global_attention(const std::string& x) {
  ++structures_["attention"];
  ++structures_["gated"];
  if (length_ > 1) ++structures_["global_query"];
  const int64_t heads = between(2, 4), width = between(2, 5), columns = heads * width;
  const std::string n = chance() ? norm(x) : x, axis = std::to_string(lead_.size());
  Shape query = lead_, one = lead_, keys = lead_;
  query.insert(query.end(), {heads, width});
  one.insert(one.end(), {1, columns});
  keys.insert(keys.end(), {1, length_});
  const std::string m = chance() ? step("Reduce(" + n + ") {kind=mean, axes=[" + axis + "], keepdims=false}")
                                 : step("Div(Reduce(" + n + ") {axes=[" + axis + "], keepdims=false}, " +
                                        number(static_cast<double>(length_)) + ")");
  const std::string q =
      step("Reshape(MatMul(" + m + ", " + constant({channels_, columns}) + ")) {shape=[" + joined(query, ",") + "]}");
  const std::string k = linear(n, channels_, width), v = linear(n, channels_, width);
  Shape perm;
  for (size_t i = 0; i < lead_.size(); ++i) perm.push_back(static_cast<int64_t>(i));
  const auto at = static_cast<int64_t>(lead_.size());
  perm.insert(perm.end(), {at + 1, at});
  std::string s = step("MatMul(" + scaled(q, 1 / std::sqrt(static_cast<double>(width))) + ", Transpose(" + k +
                       ") {perm=[" + joined(perm, ",") + "]})");
  if (chance()) s = step(both("Add", s, both("Mul", "Sub(Cast(" + kept(keys) + ") {to=f32}, 1)", "1e9")));
  const std::string o = step("Reshape(MatMul(Softmax(" + s + "), " + v + ")) {shape=[" + joined(one, ",") + "]}");
  const std::string y = step(both("Mul", "Sigmoid(" + linear(n, channels_, columns) + ")", o));
  return residual(x, linear(y, columns, channels_));
}

}  // namespace plica
