#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather.h"
#include "ops/pad.h"
#include "ops/rotary.h"
#include "ops/softmax.h"
#include "runtime/core/dtype.h"

namespace plica::onnx {
namespace {

using ops::Fn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Attention of ONNX, operands as (batch, heads, length, width).
struct Heads {
  Id q, k, v;
  Id bias = kNone;  // as q, added
  Id mask = kNone;  // bool
  double scale = 1;
  int64_t past = 0;  // keys before the first query
  bool causal = false;

  int64_t group = 1;  // query heads a key head
};

// (batch, length, heads * width) with the heads apart and in front; of rank 4 already, as it is.
Result<Id> heads_of(Lowering& n, size_t i, std::string_view attribute) {
  const Shape shape = n.shape(n.in(i));
  if (shape.size() == 4) return n.in(i);
  if (shape.size() != 3)
    return invalid_model("input " + std::to_string(i) + " is " + to_string(shape) + ", wanted rank 3 or 4");
  PLICA_TRY(const int64_t heads, n.attr(attribute, 0));
  if (heads <= 0 || shape[2] % heads != 0)
    return invalid_model("attribute '" + std::string(attribute) + "' is " + std::to_string(heads) +
                         ", wanted a divisor of the width " + std::to_string(shape[2]));
  return n.transpose(n.reshape(n.in(i), {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

// The mask brought to the number of keys: what it does not name is masked.
Result<Id> padded_mask(Lowering& n, Id mask, int64_t num_keys) {
  const int64_t last = n.rank(mask) - 1;
  if (last < 0) return invalid_model("the mask is a scalar, wanted rank 2 to 4");
  const int64_t missing = num_keys - n.size(mask, last);
  if (missing <= 0 || n.size(mask, last) == 1) return mask;
  ops::Pad pad{std::vector<int64_t>(static_cast<size_t>(n.rank(mask)), 0),
               std::vector<int64_t>(static_cast<size_t>(n.rank(mask)), 0)};
  pad.after.back() = missing;
  const bool is_bool = n.dtype(mask) == DType::kBool;
  return n.emit_one(pad_op, std::move(pad), {mask, is_bool ? Result<Id>(kNone) : n.scalar_like(-kInfinity, mask)});
}

Result<Id> both(Lowering& n, Id a, Result<Id> b) {
  if (a == kNone) return b;
  return n.call(Fn::kAnd, {a, b});
}

Result<Id> positions(Lowering& n, int64_t count, int64_t first, Shape shape) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = first + static_cast<int64_t>(i);
  return n.reshape(n.int64s(numbers), std::move(shape));
}

// Query i sees the keys up to i + offset: the keys of the cache come before it, and where the cache has room to spare
// (and holds the queries' own keys already), the last query stands at its sequence's end.
Result<Id> causal_mask(Lowering& n, const Heads& heads) {
  const int64_t num_queries = n.size(heads.q, n.rank(heads.q) - 2), num_keys = n.size(heads.k, n.rank(heads.k) - 2);
  const Result<Id> keys = positions(n, num_keys, 0, {1, num_keys});
  if (!n.has(6) || n.has(4))
    return n.call(Fn::kLessOrEqual, {keys, positions(n, num_queries, heads.past, {num_queries, 1})});
  const Result<Id> end = n.reshape(n.cast(n.in(6), DType::kI64), {n.size(n.in(6), 0), 1, 1, 1});
  return n.call(Fn::kLessOrEqual, {keys, n.add(end, positions(n, num_queries, -num_queries, {num_queries, 1}))});
}

// The mask operand, the number of keys that are no padding, and a causal frontier that is not the diagonal.
Status add_masks(Lowering& n, Heads& heads) {
  const int64_t num_keys = n.size(heads.k, 2);
  if (n.has(3)) {
    PLICA_TRY(const Id mask, padded_mask(n, n.in(3), num_keys));
    (n.dtype(mask) == DType::kBool ? heads.mask : heads.bias) = mask;
  }
  if (n.has(6)) {
    const Result<Id> limit = n.reshape(n.cast(n.in(6), DType::kI64), {n.size(n.in(6), 0), 1, 1, 1});
    PLICA_TRY(heads.mask, both(n, heads.mask, n.call(Fn::kLess, {positions(n, num_keys, 0, {num_keys}), limit})));
  }
  if (heads.causal && (heads.past != 0 || n.has(6))) {
    PLICA_TRY(heads.mask, both(n, heads.mask, causal_mask(n, heads)));
    heads.causal = false;
  }
  return {};
}

// (batch, H, ...) as (batch, H / group, group, ...); an axis of size 1 stays one.
Result<Id> split_heads(Lowering& n, Id x, int64_t group) {
  Shape shape = n.shape(x);
  if (x == kNone || shape.size() < 3 || group == 1) return x;
  const auto at = shape.end() - 3;
  const int64_t inner = *at == 1 ? 1 : group;
  *at /= inner;
  shape.insert(at + 1, inner);
  return n.reshape(x, std::move(shape));
}

// Several query heads to a key head: the key head is an axis that q's group broadcasts over.
Status group_heads(Lowering& n, Heads& heads) {
  const int64_t query_heads = n.size(heads.q, 1), key_heads = n.size(heads.k, 1);
  if (query_heads == key_heads || key_heads == 0) return {};
  if (query_heads % key_heads != 0)
    return invalid_model(std::to_string(query_heads) + " query heads, wanted a multiple of the " +
                         std::to_string(key_heads) + " key heads");
  heads.group = query_heads / key_heads;
  PLICA_TRY(heads.q, split_heads(n, heads.q, heads.group));
  for (Id* x : {&heads.k, &heads.v}) {
    Shape shape = n.shape(*x);
    shape.insert(shape.begin() + 2, 1);
    PLICA_TRY(*x, n.reshape(*x, std::move(shape)));
  }
  for (Id* x : {&heads.bias, &heads.mask})
    if (*x != kNone) {
      PLICA_TRY(*x, split_heads(n, *x, heads.group));
    }
  return {};
}

Result<Id> fused(Lowering& n, const Heads& heads) {
  ops::Attention attention;
  attention.scale = heads.scale;
  attention.causal = heads.causal;
  attention.zero_rows = ops::ZeroRows::kMasked;
  if (heads.mask != kNone) attention.fill = -kInfinity;
  return n.emit_one(attention_op, attention, {heads.q, heads.k, heads.v, heads.bias, heads.mask, kNone, kNone});
}

// Which rows see no key, by bias and mask alone: their weights are zeros, and those of rows with a score of NaN are NaN.
Result<Id> rows_without_keys(Lowering& n, Id bias, Id mask) {
  Result<Id> seen = mask;
  if (bias != kNone)
    seen = both(n, mask, n.call(Fn::kNot, {n.call(Fn::kEqual, {bias, n.scalar_like(-kInfinity, bias)})}));
  if (!seen) return seen;
  const Result<Id> any = n.reduce(ops::ReduceKind::kMax, n.cast(seen, DType::kF32), {n.rank(*seen) - 1}, true);
  return n.call(Fn::kEqual, {any, n.scalar_like(0, any)});
}

// The same in single steps, for what the operator does not say: a cap on the scores, the scores as an output.
Result<Id> in_steps(Lowering& n, const Heads& heads, double softcap, int64_t output_mode) {
  const Result<Id> product = n.mat_mul(heads.q, n.swap_last(heads.k));
  PLICA_TRY(Id scores, n.mul(product, n.scalar_like(heads.scale, product)));
  const auto report = [&](int64_t mode, Id value) -> Status {
    if (mode != output_mode || !n.wants(3)) return {};
    Shape shape = n.shape(value);
    if (heads.group != 1) shape = {shape[0], shape[1] * shape[2], shape[3], shape[4]};
    return n.give(3, n.reshape(value, std::move(shape)));
  };
  PLICA_CHECK(report(0, scores));
  if (softcap > 0) {
    const Result<Id> cap = n.scalar_like(softcap, scores);
    PLICA_TRY(scores, n.mul(n.call(Fn::kTanh, {n.div(scores, cap)}), cap));
  }
  const bool caps_first = output_mode == 1 && softcap > 0;
  if (caps_first) PLICA_CHECK(report(1, scores));
  if (heads.bias != kNone) {
    PLICA_TRY(scores, n.add(scores, heads.bias));
  }
  Result<Id> mask = heads.mask;
  if (heads.causal) mask = both(n, heads.mask, causal_mask(n, heads));
  if (!mask) return mask;
  if (*mask != kNone) {
    PLICA_TRY(scores, n.call(Fn::kWhere, {mask, scores, n.scalar_like(-kInfinity, scores)}));
  }
  if (!caps_first) PLICA_CHECK(report(1, scores));
  PLICA_CHECK(report(2, scores));
  PLICA_TRY(Id weights, n.emit_one(softmax_op, ops::Softmax{}, {scores}));
  if (*mask != kNone || heads.bias != kNone) {
    PLICA_TRY(weights,
              n.call(Fn::kWhere, {rows_without_keys(n, heads.bias, *mask), n.scalar_like(0, weights), weights}));
  }
  PLICA_CHECK(report(3, weights));
  return n.mat_mul(weights, heads.v);
}

Result<Heads> read_heads(Lowering& n) {
  Heads heads{};
  heads.bias = heads.mask = kNone;
  heads.group = 1;
  PLICA_TRY(heads.q, heads_of(n, 0, "q_num_heads"));
  PLICA_TRY(heads.k, heads_of(n, 1, "kv_num_heads"));
  PLICA_TRY(heads.v, heads_of(n, 2, "kv_num_heads"));
  const auto width = static_cast<double>(n.size(heads.q, 3));
  PLICA_TRY(heads.scale, n.real("scale", 1 / std::sqrt(width)));
  PLICA_TRY(heads.causal, n.flag("is_causal", false));
  if (n.has(4)) {
    heads.past = n.size(n.in(4), 2);
    PLICA_TRY(heads.k, n.concat({n.in(4), heads.k}, 2));
  }
  if (n.has(5)) {
    PLICA_TRY(heads.v, n.concat({n.in(5), heads.v}, 2));
  }
  return heads;
}

Status attention(Lowering& n) {
  PLICA_TRY(Heads heads, read_heads(n));
  PLICA_TRY(const double softcap, n.real("softcap", 0));
  PLICA_TRY(const int64_t output_mode, n.attr("qk_matmul_output_mode", 0));
  PLICA_CHECK(n.give(1, heads.k));
  PLICA_CHECK(n.give(2, heads.v));
  PLICA_CHECK(add_masks(n, heads));
  PLICA_CHECK(group_heads(n, heads));
  const bool simple = softcap == 0 && !n.wants(3);
  PLICA_TRY(Id y, simple ? fused(n, heads) : in_steps(n, heads, softcap, output_mode));
  Shape shape = n.shape(y);
  if (heads.group != 1) {
    shape = {shape[0], shape[1] * shape[2], shape[3], shape[4]};
    PLICA_TRY(y, n.reshape(y, shape));
  }
  if (n.rank(n.in(0)) == 4) return n.give(y);
  return n.give(n.reshape(n.transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]}));
}

// A cache (..., D/2) as the factors of all D: the halves side by side, or each number twice.
Result<Id> factors(Lowering& n, size_t operand, bool interleaved, Shape shape) {
  Result<Id> cache = n.in(operand);
  if (n.has(3)) cache = n.emit_one(gather_op, ops::Gather{0}, {cache, n.in(3)});
  if (!cache) return cache;
  const Shape held = n.shape(*cache);
  if (held.size() < 2) return invalid_model("a cache is " + to_string(held) + ", wanted rank 2 or 3");
  const int64_t half = held.back();
  shape[0] = held.size() == 3 ? held[0] : 1;
  shape.back() = half;
  if (!interleaved) {
    PLICA_TRY(const Id part, n.reshape(cache, shape));
    return n.concat({part, part}, 3);
  }
  Shape pairs = shape, flat = shape;
  pairs.push_back(1);
  flat.back() = 2 * half;
  PLICA_TRY(const Id apart, n.reshape(cache, pairs));
  pairs.back() = 2;
  return n.reshape(n.expand(apart, pairs), flat);
}

Status rotary_embedding(Lowering& n) {
  PLICA_TRY(const bool interleaved, n.flag("interleaved", false));
  PLICA_TRY(int64_t rotated, n.attr("rotary_embedding_dim", 0));
  const Shape shape = n.shape(n.in(0));
  Result<Id> x = n.in(0);
  if (shape.size() == 3) {
    PLICA_TRY(const int64_t heads, n.attr("num_heads", 0));
    if (heads <= 0 || shape[2] % heads != 0)
      return invalid_model("attribute 'num_heads' is " + std::to_string(heads) + ", wanted a divisor of the width " +
                           std::to_string(shape[2]));
    x = n.transpose(n.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
  } else if (shape.size() != 4) {
    return invalid_model("the input is " + to_string(shape) + ", wanted rank 3 or 4");
  }
  if (!x) return x.take_error();
  const int64_t width = n.size(*x, 3), length = n.size(*x, 2);
  if (rotated == 0) rotated = width;
  const Shape per_head{1, 1, length, 0};
  PLICA_TRY(const Id cos, factors(n, 1, interleaved, per_head));
  PLICA_TRY(const Id sin, factors(n, 2, interleaved, per_head));
  PLICA_TRY(Id y, n.emit_one(rotary_op, ops::Rotary{interleaved}, {n.slice(x, 3, 0, rotated), cos, sin}));
  if (rotated != width) {
    PLICA_TRY(const Id rest, n.slice(x, 3, rotated, width - rotated));
    PLICA_TRY(y, n.concat({y, rest}, 3));
  }
  if (shape.size() == 4) return n.give(y);
  return n.give(n.reshape(n.transpose(y, {0, 2, 1, 3}), shape));
}

constexpr OpRow kRows[] = {
    {"Attention", 23, 3, attention},
    {"RotaryEmbedding", 23, 3, rotary_embedding},
};

}  // namespace

std::span<const OpRow> attention_rows() { return kRows; }

}  // namespace plica::onnx
