#include <algorithm>
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"
#include "ops/pointwise.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// Arithmetic on scalars is regrouped only where a rounding more or less is in the last place of an f32.
bool x_is_real(Match& m) { return is_real(m.type("x").dtype); }
bool is_power_of_two(double value) {
  int exponent = 0;
  return std::abs(std::frexp(value, &exponent)) == 0.5;
}
bool x_is_float(Match& m) { return is_float(m.type("x").dtype); }

bool is_half(Match& m) {
  const DType dtype = m.type("x").dtype;
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_identity_perm(Match& m) {
  const std::vector<int64_t>& perm = m.list("$p");
  return std::is_sorted(perm.begin(), perm.end());
}

bool is_from_the_start(Match& m) {
  const auto all = [&](std::string_view list, int64_t value) {
    const auto& values = m.list(list);
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
  };
  return all("$s", 0) && all("$t", 1);
}

// A part that is read itself, as by the rotation of some channels, stays what its own parts are cut from.
bool compose_slices(Match& m) {
  const Graph& graph = m.graph();
  const auto& users = graph.value(m.value("part")).users;
  if (!std::all_of(users.begin(), users.end(), [&](NodeId user) { return graph.node(user).op == &slice_op; }))
    return false;
  const auto &starts = m.list("$s"), &steps = m.list("$t"), &outer_starts = m.list("$s2"), &outer_steps = m.list("$t2");
  std::vector<int64_t> from(starts.size()), by(starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    from[i] = starts[i] + steps[i] * outer_starts[i];
    by[i] = steps[i] * outer_steps[i];
  }
  m.set("$from", std::move(from));
  m.set("$by", std::move(by));
  return true;
}

// Whether every value of `from` is a value of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (is_float(from)) return to == DType::kF64 || (to == DType::kF32 && from != DType::kF64);
  const auto bits = [](DType dtype) { return static_cast<int>(8 * size_of(dtype)) - (is_unsigned(dtype) ? 0 : 1); };
  if (to == DType::kF64) return bits(from) <= 53;
  if (to == DType::kF32) return bits(from) <= 24;
  return is_integer(to) && bits(from) <= bits(to) && (is_unsigned(from) || !is_unsigned(to));
}

bool first_cast_loses_nothing(Match& m) { return is_lossless(m.type("x").dtype, std::get<DType>(m.attr("$a"))); }

bool swaps_last_two(const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  if (rank < 2 || perm[rank - 1] != static_cast<int64_t>(rank) - 2 || perm[rank - 2] != static_cast<int64_t>(rank) - 1)
    return false;
  return std::is_sorted(perm.begin(), perm.end() - 2);
}

// Two transposes of matrices with a Reshape of their batch between them.
bool transposes_cancel(Match& m) {
  if (!swaps_last_two(m.list("$p")) || !swaps_last_two(m.list("$q"))) return false;
  Shape shape = m.list("$s");
  const Shape& x = m.shape("x");
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  if (shape.end()[-1] != x.end()[-1] || shape.end()[-2] != x.end()[-2]) return false;
  m.set("$shape", std::move(shape));
  return true;
}

// One row or one column of a last axis cut into matrices: neighbouring elements of it, or every so many-th.
bool is_row_or_column(Match& m) {
  const std::vector<int64_t>&from = m.list("$s"), &sizes = m.list("$n");
  Shape cut = m.list("$cut"), whole = m.list("$to");
  const size_t rank = cut.size();
  if (rank < 2 || m.list("$t") != std::vector<int64_t>(rank, 1)) return false;
  const bool is_column = sizes[rank - 1] == 1 && cut[rank - 1] > 1;
  const size_t axis = is_column ? rank - 1 : rank - 2;
  const int64_t count = cut[axis], inside = is_column ? 1 : cut[rank - 1];
  cut[axis] = 1;
  if (count == 1 || sizes != cut) return false;
  cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(axis));
  if (whole != cut) return false;
  std::vector<int64_t> starts(rank - 1, 0), steps(rank - 1, 1);
  starts.back() = from[axis] * inside;
  steps.back() = is_column ? count : 1;
  whole.back() *= count;
  m.set("$whole", std::move(whole));
  m.set("$from", std::move(starts));
  m.set("$by", std::move(steps));
  return true;
}

// A Reshape that makes one axis of the concatenated one and those behind it.
bool merges_concatenated_axis(Match& m) {
  const Shape &a = m.shape("a"), &b = m.shape("b"), &to = m.list("$s");
  const auto axis = static_cast<size_t>(std::get<int64_t>(m.attr("$k")));
  if (to.size() >= a.size() || axis >= to.size()) return false;
  const size_t num_merged = a.size() - to.size();
  const auto behind = a.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  const int64_t inside = num_elements(Shape(behind, behind + static_cast<std::ptrdiff_t>(num_merged)));
  Shape merged(a.begin(), behind);
  merged.insert(merged.end(), behind + static_cast<std::ptrdiff_t>(num_merged), a.end());
  const auto set = [&](std::string_view capture, int64_t size) {
    merged[axis] = size * inside;
    m.set(capture, Shape(merged));
  };
  set("$as", a[axis]);
  set("$bs", b[axis]);
  merged[axis] = (a[axis] + b[axis]) * inside;
  return inside > 1 && merged == to;
}

bool is_kept_shape(Match& m) {
  Shape kept = m.shape("x");
  for (int64_t axis : m.list("$axes")) kept[static_cast<size_t>(axis)] = 1;
  return m.list("$shape") == kept;
}

bool is_one_over_count(Match& m) {
  double count = 1;
  for (int64_t axis : m.list("$axes")) count *= static_cast<double>(m.shape("x")[static_cast<size_t>(axis)]);
  return is_real(m.type("x").dtype) && count > 0 && std::abs(m.number("$c") * count - 1) < 1e-6;
}

// x (1 + erf(u)) or x (1 + tanh(u)): half of it is GELU, which later rules look for.
bool x_is_twice_gelu(Match& m) {
  const Graph& graph = m.graph();
  const auto adds_one = [&](ValueId id) {
    const NodeId add = graph.producer_of(id, pointwise_op(ops::Fn::kAdd));
    return add != kNone &&
           std::any_of(graph.node(add).inputs.begin(), graph.node(add).inputs.end(), [&](ValueId input) {
             return graph.producer_of(input, pointwise_op(ops::Fn::kErf)) != kNone ||
                    graph.producer_of(input, pointwise_op(ops::Fn::kTanh)) != kNone;
           });
  };
  const NodeId product = graph.producer_of(m.value("x"), pointwise_op(ops::Fn::kMul));
  return product != kNone &&
         std::any_of(graph.node(product).inputs.begin(), graph.node(product).inputs.end(), adds_one);
}
// In 16 bits a product is regrouped only where one of the factors rounds nothing.
bool factors_merge(Match& m) {
  if (x_is_twice_gelu(m)) return false;
  return x_is_real(m) || (x_is_float(m) && (is_power_of_two(m.number("$a")) || is_power_of_two(m.number("$b"))));
}
bool factor_moves_out(Match& m) {
  return (x_is_real(m) || (x_is_float(m) && is_power_of_two(m.number("$a")))) && m.shape("x") == m.shape("y") &&
         !x_is_twice_gelu(m);
}
bool divisor_inverts(Match& m) {
  return m.number("$c") != 0 && (x_is_real(m) || (x_is_float(m) && is_power_of_two(m.number("$c"))));
}

// Whether known places are those of all elements of x, one behind the other.
bool takes_all_in_order(Match& m) {
  const Constant* places = m.graph().constant(m.value("places"));
  if (places == nullptr || places->data == nullptr || places->type.dtype != DType::kI64) return false;
  Shape shape = places->type.shape;
  const Shape& x = m.shape("x");
  if (shape.back() != static_cast<int64_t>(x.size())) return false;
  shape.pop_back();
  const int64_t count = num_elements(x);
  if (num_elements(shape) != count) return false;
  const auto* place = static_cast<const int64_t*>(places->data);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (int64_t size : x) {
      if (*place < -size || *place >= size) return false;
      at = at * size + (*place < 0 ? *place + size : *place);
      ++place;
    }
    if (at != i) return false;
  }
  m.set("$shape", std::move(shape));
  return true;
}

// What a constant of a larger shape leaves of x: x, as large.
bool y_is_larger(Match& m) {
  const Shape shape = m.shape("y");
  m.set("$shape", shape);
  return shape != m.shape("x");
}

// One spelling for each idea.
constexpr Rule kRules[] = {
    // What changes nothing; the types of both sides must agree, so a constant that broadcasts to a larger shape stays.
    {"mul_one", "y = Mul(x, 1)", "y = x"},
    {"div_one", "y = Div(x, 1)", "y = x"},
    {"add_zero", "y = Add(x, 0)", "y = x"},
    {"sub_zero", "y = Sub(x, 0)", "y = x"},
    {"pow_one", "y = Pow(x, 1)", "y = x"},
    {"and_true", "y = And(x, 1)", "y = x"},
    {"or_false", "y = Or(x, 0)", "y = x"},
    {"and_true_wider", "y = And(x, 1)", "y = Expand(x) {shape=$shape}", y_is_larger},
    {"or_false_wider", "y = Or(x, 0)", "y = Expand(x) {shape=$shape}", y_is_larger},
    {"and_self", "y = And(x, x)", "y = x"},
    {"or_self", "y = Or(x, x)", "y = x"},
    {"where_same", "y = Where(c, x, x)", "y = x"},
    {"reshape_same", "y = Reshape(x) {shape=$s}", "y = x"},
    {"expand_same", "y = Expand(x) {shape=$s}", "y = x"},
    {"cast_same", "y = Cast(x) {to=$a}", "y = x"},
    {"transpose_same", "y = Transpose(x) {perm=$p}", "y = x", is_identity_perm},
    {"slice_same", "y = Slice(x) {starts=$s, sizes=$n, steps=$t}", "y = x", is_from_the_start},
    {"reduce_none", "y = Reduce(x) {kind=$k, axes=[], keepdims=$d}", "y = x"},
    {"concat_one", "y = Concat(x) {axis=$a}", "y = x"},
    {"concat_before_reshape", "y = Reshape(Concat(a, b) {axis=$k}) {shape=$s}",
     "y = Concat(Reshape(a) {shape=$as}, Reshape(b) {shape=$bs}) {axis=$k}", merges_concatenated_axis},
    {"gather_in_order", "y = GatherNd(x, places)", "y = Reshape(x) {shape=$shape}", takes_all_in_order},

    // Two of a kind.
    {"reshape_reshape", "y = Reshape(Reshape(x) {shape=$a}) {shape=$b}", "y = Reshape(x) {shape=$b}"},
    {"expand_expand", "y = Expand(Expand(x) {shape=$a}) {shape=$b}", "y = Expand(x) {shape=$b}"},
    {"transpose_transpose", "y = Transpose(Transpose(x) {perm=$p}) {perm=$q}", "y = Transpose(x) {perm=$r}",
     compose_perms},
    {"transpose_reshape_transpose", "y = Transpose(Reshape(Transpose(x) {perm=$p}) {shape=$s}) {perm=$q}",
     "y = Reshape(x) {shape=$shape}", transposes_cancel},
    {"slice_slice",
     R"(part = Slice(x) {starts=$s, sizes=$n, steps=$t}
        y = Slice(part) {starts=$s2, sizes=$n2, steps=$t2})",
     "y = Slice(x) {starts=$from, sizes=$n2, steps=$by}", compose_slices},
    {"row_or_column", "y = Reshape(Slice(Reshape(x) {shape=$cut}) {starts=$s, sizes=$n, steps=$t}) {shape=$to}",
     "y = Slice(Reshape(x) {shape=$whole}) {starts=$from, sizes=$to, steps=$by}", is_row_or_column},
    {"cast_cast", "y = Cast(Cast(x) {to=$a}) {to=$b}", "y = Cast(x) {to=$b}", first_cast_loses_nothing},
    {"not_not", "y = Not(Not(x))", "y = x"},
    {"neg_neg", "y = Neg(Neg(x))", "y = x"},
    {"mul_mul", "y = Mul(Mul(x, $a), $b)", "y = Mul(x, $a*$b)", factors_merge},

    // A softmax of 16 bits is computed in f32 as it is.
    {"softmax_in_f32", "y = Cast(Softmax(Cast(x) {to=f32})) {to=$t}", "y = Softmax(x)", is_half},

    // A softmax does not change with what is subtracted from a whole row.
    {"softmax_shifted", "y = Softmax(Sub(x, Reduce(x) {kind=max, axes=[-1]})) {log=$l}", "y = Softmax(x) {log=$l}",
     x_is_float, true},
    {"softmax_by_hand",
     R"(e = Exp(Sub(x, Reduce(x) {kind=max, axes=[-1]}))
        y = Div(e, Reduce(e) {axes=[-1]}))",
     "y = Softmax(x)", x_is_real, true},

    // Signs.
    {"mul_minus_one", "y = Mul(x, -1)", "y = Neg(x)"},
    {"neg_mul", "y = Neg(Mul(x, $a))", "y = Mul(x, 0-$a)", x_is_float},
    {"mul_neg", "y = Mul(Neg(x), $a)", "y = Mul(x, 0-$a)", x_is_float},
    {"add_neg", "y = Add(x, Neg(z))", "y = Sub(x, z)"},
    {"sub_neg", "y = Sub(x, Neg(z))", "y = Add(x, z)"},
    {"where_not", "y = Where(Not(c), a, b)", "y = Where(c, b, a)"},

    // Powers and divisions.
    {"pow_two", "y = Pow(x, 2)", "y = Mul(x, x)"},
    {"pow_three", "y = Pow(x, 3)", "y = Mul(x, Mul(x, x))", x_is_real},
    {"pow_half", "y = Pow(x, 0.5)", "y = Sqrt(x)", x_is_float},
    {"pow_minus_half", "y = Pow(x, -0.5)", "y = Div(1, Sqrt(x))", x_is_float},
    {"pow_minus_one", "y = Pow(x, -1)", "y = Div(1, x)", x_is_float},
    {"div_by_number", "y = Div(x, $c)", "y = Mul(x, 1/$c)", divisor_inverts},
    {"mul_reciprocal", "y = Mul(x, Div(1, z))", "y = Div(x, z)", x_is_real, true},
    {"number_outward", "y = Mul(Mul(x, $a), z)", "y = Mul(Mul(x, z), $a)", factor_moves_out},

    // Reductions.
    {"reduce_keeps", "y = Reshape(Reduce(x) {kind=$k, axes=$axes, keepdims=false}) {shape=$shape}",
     "y = Reduce(x) {kind=$k, axes=$axes}", is_kept_shape},
    {"sum_to_mean", "y = Mul(Reduce(x) {axes=$axes, keepdims=$d}, $c)",
     "y = Reduce(x) {kind=mean, axes=$axes, keepdims=$d}", is_one_over_count},
};

}  // namespace

const std::span<const Rule> canonicalise_rules = kRules;

// Rewrites every spelling of an idea to the one that later rules are written for.
Result<int> canonicalise(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
