#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

// Whether the Slice captured in these lists takes every `step`-th element of the last axis from `start` on, half of
// them, and all of the other axes.
bool takes_half(Match& m, std::string_view starts, std::string_view steps, int64_t start, int64_t step) {
  const std::vector<int64_t>&from = m.list(starts), &by = m.list(steps);
  for (size_t i = 0; i + 1 < from.size(); ++i)
    if (from[i] != 0 || by[i] != 1) return false;
  return from.back() == start && by.back() == step;
}

bool is_rotation_of_halves(Match& m) {
  const Shape& x = m.shape("x");
  const int64_t half = x.back() / 2;
  return x.back() % 2 == 0 && is_float_value(m, "x") && m.shape("h") == m.shape("l") && m.shape("h").back() == half &&
         takes_half(m, "$hs", "$ht", half, 1) && takes_half(m, "$ls", "$lt", 0, 1);
}

// The same where cos is one everywhere, as at the first place.
bool is_rotation_by_sine(Match& m) {
  m.set("$one", Shape(m.shape("s")));
  return is_rotation_of_halves(m);
}

// cos and sin stand for both halves; the operator has one for each element.
bool is_rotation_of_apart_halves(Match& m) {
  const Shape &x = m.shape("x"), &c = m.shape("c");
  if (c.empty() || c != m.shape("s") || c.back() != x.back() / 2 || m.shape("y") != x) return false;
  m.set("$last", static_cast<int64_t>(c.size()) - 1);
  return is_rotation_of_halves(m);
}

// Every second element of x beside the one before it, negated.
bool is_rotation_of_turned_pairs(Match& m) {
  const Shape& x = m.shape("x");
  Shape column = m.shape("e");
  column.push_back(1);
  return x.back() % 2 == 0 && is_float_value(m, "x") && m.shape("o").back() == x.back() / 2 &&
         takes_half(m, "$es", "$et", 0, 2) && takes_half(m, "$os", "$ot", 1, 2) && m.list("$column") == column &&
         m.list("$shape") == x && m.shape("y") == x;
}

bool is_rotation_of_turned_pairs_by_sine(Match& m) {
  m.set("$one", Shape(m.shape("s")));
  return is_rotation_of_turned_pairs(m);
}

// cos and sin stand for pairs; the operator has one for each element.
bool is_rotation_of_pairs(Match& m) {
  const Shape& x = m.shape("x");
  if (x.back() % 2 != 0 || !is_float_value(m, "x") || m.shape("o").back() != x.back() / 2 ||
      !takes_half(m, "$es", "$et", 0, 2) || !takes_half(m, "$os", "$ot", 1, 2) || m.shape("y") != x)
    return false;
  Shape column = m.shape("e");
  column.push_back(1);
  if (m.list("$column") != column || m.shape("c") != m.shape("s")) return false;
  Shape table = m.shape("c");
  if (table.empty() || table.back() != x.back() / 2) return false;
  Shape apart = table, twice = table, flat = table;
  apart.push_back(1);
  twice.push_back(2);
  flat.back() *= 2;
  m.set("$apart", std::move(apart));
  m.set("$twice", std::move(twice));
  m.set("$flat", std::move(flat));
  return true;
}

constexpr Rule kRules[] = {
    {"rotary_of_halves",
     R"(h = Slice(x) {starts=$hs, sizes=$n, steps=$ht}
        l = Slice(x) {starts=$ls, sizes=$n, steps=$lt}
        y = Add(Mul(x, c), Mul(Concat(Neg(h), l) {axis=-1}, s)))",
     "y = Rotary(x, c, s)", is_rotation_of_halves},
    {"rotary_by_sine",
     R"(h = Slice(x) {starts=$hs, sizes=$n, steps=$ht}
        l = Slice(x) {starts=$ls, sizes=$n, steps=$lt}
        y = Add(x, Mul(Concat(Neg(h), l) {axis=-1}, s)))",
     "y = Rotary(x, Expand(1) {shape=$one}, s)", is_rotation_by_sine},
    {"rotary_of_apart_halves",
     R"(h = Slice(x) {starts=$hs, sizes=$n, steps=$ht}
        l = Slice(x) {starts=$ls, sizes=$n, steps=$lt}
        y = Concat(Sub(Mul(l, c), Mul(h, s)), Add(Mul(h, c), Mul(l, s))) {axis=-1})",
     "y = Rotary(x, Concat(c, c) {axis=$last}, Concat(s, s) {axis=$last})", is_rotation_of_apart_halves},
    {"rotary_of_turned_pairs",
     R"(e = Slice(x) {starts=$es, sizes=$n, steps=$et}
        o = Slice(x) {starts=$os, sizes=$n, steps=$ot}
        r = Reshape(Concat(Reshape(Neg(o)) {shape=$column}, Reshape(e) {shape=$column}) {axis=-1}) {shape=$shape}
        y = Add(Mul(x, c), Mul(r, s)))",
     "y = Rotary(x, c, s) {interleaved=true}", is_rotation_of_turned_pairs},
    {"rotary_of_turned_pairs_by_sine",
     R"(e = Slice(x) {starts=$es, sizes=$n, steps=$et}
        o = Slice(x) {starts=$os, sizes=$n, steps=$ot}
        r = Reshape(Concat(Reshape(Neg(o)) {shape=$column}, Reshape(e) {shape=$column}) {axis=-1}) {shape=$shape}
        y = Add(x, Mul(r, s)))",
     "y = Rotary(x, Expand(1) {shape=$one}, s) {interleaved=true}", is_rotation_of_turned_pairs_by_sine},
    {"rotary_of_pairs",
     R"(e = Slice(x) {starts=$es, sizes=$n, steps=$et}
        o = Slice(x) {starts=$os, sizes=$n, steps=$ot}
        a = Reshape(Sub(Mul(e, c), Mul(o, s))) {shape=$column}
        b = Reshape(Add(Mul(e, s), Mul(o, c))) {shape=$column}
        y = Reshape(Concat(a, b) {axis=-1}) {shape=$shape})",
     R"(c2 = Reshape(Expand(Reshape(c) {shape=$apart}) {shape=$twice}) {shape=$flat}
        s2 = Reshape(Expand(Reshape(s) {shape=$apart}) {shape=$twice}) {shape=$flat}
        y = Rotary(x, c2, s2) {interleaved=true})",
     is_rotation_of_pairs},
};

}  // namespace

const std::span<const Rule> fuse_rotary_rules = kRules;

// Rotary position embedding, of halves and of neighbouring pairs.
Result<int> fuse_rotary(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
