// Long because the steps over one block of queries, which share its vectors, stand together.
#include "ops/cpu/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/transpose_tile-inl.h"
#include "ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

// Scores are held transposed, (keys, queries): a vector is one key for as many queries as it has lanes. Then row maxima and sums
// need no work across lanes, k and v are read where they lie, and the widths D and E need no padding.
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kMaxVectors = 3, kTile = 8;  // 24 sums of 32 registers
#else
constexpr int kMaxVectors = 2, kTile = 4;
#endif
constexpr int kKeyBlock = 64;
constexpr int kMaxBlock = kMaxVectors * kLanes;
constexpr uint32_t kReplacedBits = 0x7fbadbad;  // a NaN that marks scores to replace
constexpr float kInfinity = std::numeric_limits<float>::infinity();

int64_t block_of(int64_t num_queries) {
  const int64_t vectors = std::max<int64_t>((num_queries + kLanes - 1) / kLanes, 1);
  const int64_t blocks = (vectors + kMaxVectors - 1) / kMaxVectors;
  return (vectors + blocks - 1) / blocks * kLanes;
}

struct Scratch {
  float *q, *scores, *sums, *rows;

  static constexpr int64_t scores_floats() { return kKeyBlock * kMaxBlock; }
  Scratch(void* memory, int64_t width, int64_t value_width) {
    scores = static_cast<float*>(memory);
    q = scores + scores_floats();
    sums = q + width * kMaxBlock;
    rows = sums + value_width * kMaxBlock;
  }
  static size_t num_bytes(int64_t width, int64_t value_width) {
    return static_cast<size_t>(scores_floats() + (width + 2 * value_width) * kMaxBlock) * sizeof(float);
  }
};

size_t scratch_bytes_of(int64_t width, int64_t value_width) { return Scratch::num_bytes(width, value_width); }
size_t terms_bytes_of(int64_t num_queries, int64_t num_keys) {
  return static_cast<size_t>(block_of(num_queries) * num_keys) * sizeof(float);
}

// kRows x kVectors products: sum[i][j] += a[i * a_stride + step * a_step] * b[step * b_stride + j * kLanes] over `steps`.
template <int kRows, int kVectors>
HWY_INLINE void multiply(const float* HWY_RESTRICT a, int64_t a_stride, int64_t a_step, const float* HWY_RESTRICT b,
                         int64_t steps, V (&sum)[kRows][kVectors]) {
  const D d;
  for (int64_t step = 0; step < steps; ++step, a += a_step, b += kVectors * kLanes) {
    V row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V scalar = hn::Set(d, a[i * a_stride]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(scalar, row[j], sum[i][j]);
    }
  }
}

// Adds the terms of key `key` to its scores.
template <int kVectors>
HWY_INLINE void add_terms(const BlockTerms& terms, int64_t key, V (&score)[kVectors]) {
  const D d;
  const hn::RebindToSigned<D> di;
  if (terms.scores) {
    const float* values = terms.scores + key * kVectors * kLanes;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const V value = hn::Load(d, values + j * kLanes);
      score[j] = hn::Add(score[j], value);
      if (terms.replaces) {
        const auto replaced = hn::Eq(hn::BitCast(di, value), hn::Set(di, static_cast<int32_t>(kReplacedBits)));
        score[j] = hn::IfThenElse(hn::RebindMask(d, replaced), hn::Set(d, terms.fill), score[j]);
      }
    }
  }
  if (!terms.keys) return;
  const float value = terms.keys[key];
  const bool replaced = std::bit_cast<uint32_t>(value) == kReplacedBits;
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j)
    score[j] = replaced ? hn::Set(d, terms.fill) : hn::Add(score[j], hn::Set(d, value));
}

// Brings rows [first, first + kRows) of a matrix into the second-level cache.
template <int kRows>
HWY_INLINE void bring_closer(const float* rows, int64_t stride, int64_t width, int64_t first) {
  constexpr int64_t kLine = 16;
  if (!rows) return;
  for (int i = 0; i < kRows; ++i)
    for (int64_t at = 0; at < width; at += kLine) __builtin_prefetch(rows + (first + i) * stride + at, 0, 2);
}

// Scores of keys [key, last) in tiles of kRows; `scores` points to those of `key`. Returns the first key that no tile took.
template <int kRows, int kVectors>
HWY_INLINE int64_t score_keys(const AttentionHead& h, const float* q, const BlockTerms& terms, int64_t key,
                              int64_t last, float* HWY_RESTRICT scores, V (&top)[kVectors]) {
  const D d;
  for (; key + kRows <= last; key += kRows, scores += kRows * kVectors * kLanes) {
    V sum[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
    bring_closer<kRows>(h.k_ahead, h.k_stride, h.width, key);
    bring_closer<kRows>(h.v_ahead, h.v_stride, h.value_width, key);
    multiply<kRows, kVectors>(h.k + key * h.k_stride, h.k_stride, 1, q, h.width, sum);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      add_terms<kVectors>(terms, key + i, sum[i]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        top[j] = hn::Max(top[j], sum[i][j]);
        hn::Store(sum[i][j], d, scores + (i * kVectors + j) * kLanes);
      }
    }
  }
  return key;
}

// sums[e] = sums[e] * rescale + v[:, e] @ weights for e in [e, last), in tiles of kRows. Returns the first e not done.
template <int kRows, int kVectors>
HWY_INLINE int64_t add_values(const float* v, int64_t v_stride, const float* weights, int64_t num_keys, int64_t e,
                              int64_t last, const V (&rescale)[kVectors], float* HWY_RESTRICT sums) {
  const D d;
  for (; e + kRows <= last; e += kRows) {
    V sum[kRows][kVectors];
    float* at = sums + e * kVectors * kLanes;
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Mul(hn::Load(d, at + (i * kVectors + j) * kLanes), rescale[j]);
    multiply<kRows, kVectors>(v + e, 1, v_stride, weights, num_keys, sum);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) hn::Store(sum[i][j], d, at + (i * kVectors + j) * kLanes);
  }
  return e;
}

constexpr float kHidden = -1e9f;  // a term beside which the scores of other keys are nothing

struct Keys {
  int64_t first, last;
};

// The largest score and the sum of weights so far, a lane a query.
template <int kVectors>
struct Running {
  V top[kVectors], sum[kVectors];
};

// Turns the scores of `num_keys` keys into weights exp(score - top), and says how earlier weights shrink.
template <int kVectors>
HWY_INLINE void weigh(float* HWY_RESTRICT scores, int64_t num_keys, const V (&top)[kVectors],
                      Running<kVectors>& running, V (&rescale)[kVectors]) {
  const D d;
  V base[kVectors], sum[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const V larger = hn::Max(running.top[j], top[j]);
    base[j] = hn::IfThenZeroElse(hn::Eq(larger, hn::Set(d, -kInfinity)), larger);  // -inf - -inf would be NaN
    rescale[j] = exp_nonpositive(d, hn::Sub(running.top[j], base[j]));
    running.top[j] = larger;
    sum[j] = hn::Zero(d);
  }
  for (int64_t key = 0; key < num_keys; ++key, scores += kVectors * kLanes)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const V weight = exp_nonpositive(d, hn::Sub(hn::Load(d, scores + j * kLanes), base[j]));
      hn::Store(weight, d, scores + j * kLanes);
      sum[j] = hn::Add(sum[j], weight);
    }
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) running.sum[j] = hn::MulAdd(running.sum[j], rescale[j], sum[j]);
}

template <int kVectors>
void load_queries(const AttentionHead& h, int64_t first, int64_t count, float* HWY_RESTRICT q) {
  const D d;
  constexpr int64_t kBlock = kVectors * kLanes;
  if (count < kBlock) std::fill_n(q, h.width * kBlock, 0.0f);
  transpose_tile(h.q + first * h.q_stride, h.q_stride, count, h.width, q, kBlock);
  const V scale = hn::Set(d, h.scale);
  for (int64_t i = 0; i < h.width * kBlock; i += kLanes) hn::Store(hn::Mul(hn::Load(d, q + i), scale), d, q + i);
}

// What queries with weights of NaN get where those are to be zeros: zeros, NaN beside a value that is not finite.
template <int kVectors>
void zero_nan_rows(const AttentionHead& h, const Keys& keys, const Running<kVectors>& running, Scratch& s) {
  const D d;
  for (int64_t e = 0; e < h.value_width; ++e) {
    float product = 0;
    for (int64_t key = keys.first; key < keys.last; ++key) product += 0 * h.v[key * h.v_stride + e];
    for (int j = 0; j < kVectors; ++j) {
      float* at = s.sums + (e * kVectors + j) * kLanes;
      hn::BlendedStore(hn::Set(d, product), hn::IsNaN(running.sum[j]), d, at);
    }
  }
}

// Divides by the sums of weights.
template <int kVectors>
void divide(const AttentionHead& h, const Keys& keys, const Running<kVectors>& running, Scratch& s) {
  const D d;
  bool has_nan = false;
  for (int j = 0; j < kVectors && h.zeroes_nan; ++j) has_nan |= !hn::AllFalse(d, hn::IsNaN(running.sum[j]));
  if (has_nan) zero_nan_rows<kVectors>(h, keys, running, s);
  for (int j = 0; j < kVectors; ++j) {
    V inverse = hn::Div(hn::Set(d, 1.0f), running.sum[j]);
    if (h.zeroes_masked) inverse = hn::IfThenZeroElse(hn::Eq(running.sum[j], hn::Zero(d)), inverse);
    if (h.zeroes_nan) inverse = hn::IfThenElse(hn::IsNaN(running.sum[j]), hn::Set(d, 1.0f), inverse);
    for (int64_t e = 0; e < h.value_width; ++e) {
      float* at = s.sums + (e * kVectors + j) * kLanes;
      hn::Store(hn::Mul(hn::Load(d, at), inverse), d, at);
    }
  }
}

// Writes rows [begin, end) of the block.
template <int kVectors>
void store_rows(const AttentionHead& h, int64_t first, int64_t begin, int64_t end, Scratch& s) {
  const D d;
  constexpr int64_t kBlock = kVectors * kLanes;
  float* y = h.y + first * h.y_stride;
  if (!h.gate.data)
    return transpose_tile(s.sums + begin, kBlock, h.value_width, end - begin, y + begin * h.y_stride, h.y_stride);
  transpose_tile(s.sums, kBlock, h.value_width, end, s.rows, h.value_width);
  for (int64_t i = begin; i < end; ++i) {
    const float* row = s.rows + i * h.value_width;
    for (int64_t e = 0; e < h.value_width; e += kLanes) {
      const auto lanes = hn::FirstN(d, static_cast<size_t>(std::min<int64_t>(h.value_width - e, kLanes)));
      const float* gate = h.gate.at(first + i, e);
      HWY_ALIGN float gathered[kLanes] = {};
      for (int64_t l = 0; h.gate.col_stride != 1 && l < std::min<int64_t>(h.value_width - e, kLanes); ++l)
        gathered[l] = gate[l * h.gate.col_stride];
      const V g = h.gate.col_stride == 1 ? hn::MaskedLoad(lanes, d, gate) : hn::Load(d, gathered);
      hn::BlendedStore(hn::Mul(hn::MaskedLoad(lanes, d, row + e), sigmoid(d, g)), lanes, d, y + i * h.y_stride + e);
    }
  }
}

// The values of these keys, weighed, in s.sums.
template <int kVectors>
void add_up(const AttentionHead& h, const BlockTerms& terms, const Keys& keys, Running<kVectors>& running, Scratch& s) {
  const D d;
  constexpr int64_t kBlock = kVectors * kLanes;
  std::fill_n(s.sums, h.value_width * kBlock, 0.0f);
  for (int j = 0; j < kVectors; ++j) running.top[j] = hn::Set(d, -kInfinity), running.sum[j] = hn::Zero(d);
  for (int64_t key = keys.first; key < keys.last; key += kKeyBlock) {
    const int64_t last = std::min<int64_t>(key + kKeyBlock, keys.last);
    V top[kVectors], rescale[kVectors];
    for (int j = 0; j < kVectors; ++j) top[j] = hn::Set(d, -kInfinity);
    const int64_t rest = score_keys<kTile, kVectors>(h, s.q, terms, key, last, s.scores, top);
    score_keys<1, kVectors>(h, s.q, terms, rest, last, s.scores + (rest - key) * kBlock, top);
    weigh<kVectors>(s.scores, last - key, top, running, rescale);
    const float* v = h.v + key * h.v_stride;
    int64_t e = add_values<kTile, kVectors>(v, h.v_stride, s.scores, last - key, 0, h.value_width, rescale, s.sums);
    if constexpr (kTile > 4)
      e = add_values<4, kVectors>(v, h.v_stride, s.scores, last - key, e, h.value_width, rescale, s.sums);
    add_values<1, kVectors>(v, h.v_stride, s.scores, last - key, e, h.value_width, rescale, s.sums);
  }
}

// Marks rows that what the block has left out or hidden may change: whose own keys are all hidden where keys with a term of -1e9 or
// less are left out, and what is not finite where a key that is hidden from the row may have made it so.
template <int kVectors>
bool find_strays(const AttentionHead& h, const BlockTerms& terms, const Running<kVectors>& running, const Scratch& s,
                 float* is_stray) {
  const D d;
  bool any = false;
  for (int j = 0; j < kVectors; ++j) {
    V stray = hn::Zero(d);
    if (terms.hides) stray = hn::IfThenElse(hn::Le(running.top[j], hn::Set(d, kHidden / 2)), hn::Set(d, 1.0f), stray);
    V spoilt = hn::Mul(running.sum[j], hn::Zero(d));
    for (int64_t e = 0; e < h.value_width && terms.causal; ++e)
      spoilt = hn::MulAdd(hn::Load(d, s.sums + (e * kVectors + j) * kLanes), hn::Zero(d), spoilt);
    if (terms.causal) stray = hn::IfThenElse(hn::IsNaN(spoilt), hn::Set(d, 1.0f), stray);
    any |= !hn::AllFalse(d, hn::Gt(stray, hn::Zero(d)));
    hn::StoreU(stray, d, is_stray + j * kLanes);
  }
  return any;
}

template <int kVectors>
void attend_vectors(const AttentionHead& h, int64_t first, const BlockTerms& terms, void* memory) {
  Scratch s(memory, h.width, h.value_width);
  const int64_t count = std::min<int64_t>(kVectors * kLanes, h.num_queries - first);
  load_queries<kVectors>(h, first, count, s.q);
  Running<kVectors> running;
  Keys keys{terms.first_key, terms.last_key};
  add_up<kVectors>(h, terms, keys, running, s);
  float is_stray[kMaxBlock];
  const bool any = (terms.hides || terms.causal) && find_strays<kVectors>(h, terms, running, s, is_stray);
  divide<kVectors>(h, keys, running, s);
  store_rows<kVectors>(h, first, 0, count, s);
  for (int64_t i = 0; i < count && any; ++i) {
    if (is_stray[i] == 0) continue;
    const Keys seen{0, terms.causal ? std::min(h.num_keys, first + i + 1) : h.num_keys};
    if (keys.first != seen.first || keys.last != seen.last) {
      keys = seen;
      add_up<kVectors>(h, terms, keys, running, s);
      divide<kVectors>(h, keys, running, s);
    }
    store_rows<kVectors>(h, first, i, i + 1, s);
  }
}

void attend_block(const AttentionHead& h, int64_t first, const BlockTerms& terms, void* scratch) {
  switch (block_of(h.num_queries) / kLanes) {
    case 1: return attend_vectors<1>(h, first, terms, scratch);
    case 2: return attend_vectors<2>(h, first, terms, scratch);
    default: return attend_vectors<kMaxVectors>(h, first, terms, scratch);
  }
}

void add_keys(const ScoreTerms& t, float* values, BlockTerms& block) {
  int64_t first = block.last_key, last = block.first_key;
  for (int64_t key = block.first_key; key < block.last_key; ++key) {
    float value = (t.bias.data ? *t.bias.at(0, key) : 0) + (t.mask.data ? *t.mask.at(0, key) : 0);
    const bool replaced = t.keep && !t.keep[key * t.keep_col_stride];
    if (replaced) value = std::bit_cast<float>(kReplacedBits);
    values[key] = value;
    const bool masked = (replaced ? t.fill : value) == -kInfinity, hidden = masked || (!replaced && value <= kHidden);
    block.hides |= hidden && !masked;
    if (!(block.causal ? masked : hidden)) first = std::min(first, key);  // it may be all that a first row sees
    if (!hidden) last = key + 1;
  }
  if (first < last) block.first_key = first, block.last_key = last;
  block.keys = values;
  block.fill = t.fill;
}

// values[key * block + query] of a matrix (count, num_keys); adds where `add`.
void take_transposed(const MatrixRef& m, int64_t first, int64_t count, int64_t num_keys, int64_t block, bool add,
                     float* values) {
  const float* from = m.at(first, 0);
  if (!add && m.col_stride == 1) return transpose_tile(from, m.row_stride, count, num_keys, values, block);
  for (int64_t key = 0; key < num_keys; ++key)
    for (int64_t i = 0; i < count; ++i) {
      float& value = values[key * block + i];
      value = (add ? value : 0) + from[i * m.row_stride + key * m.col_stride];
    }
}

BlockTerms make_terms(const ScoreTerms& t, const AttentionHead& h, int64_t first, void* memory) {
  BlockTerms result;
  result.last_key = h.num_keys;
  if (!t.any()) return result;
  auto* values = static_cast<float*>(memory);
  const bool per_key = !t.causal && (!t.bias.data || !t.bias.row_stride) && (!t.mask.data || !t.mask.row_stride) &&
                       (!t.keep || !t.keep_row_stride);
  if (per_key) return add_keys(t, values, result), result;
  const int64_t block = block_of(h.num_queries), count = std::min(block, h.num_queries - first);
  const int64_t last = t.causal ? std::min(h.num_keys, first + count) : h.num_keys;
  const bool single = !!t.bias.data != !!t.mask.data;
  if (count < block || !single) std::fill_n(values, last * block, 0.0f);
  if (t.bias.data) take_transposed(t.bias, first, count, last, block, !single, values);
  if (t.mask.data) take_transposed(t.mask, first, count, last, block, !single, values);
  for (int64_t key = 0; key < last && t.keep; ++key)
    for (int64_t i = 0; i < count; ++i)
      if (!t.keep[(first + i) * t.keep_row_stride + key * t.keep_col_stride])
        values[key * block + i] = std::bit_cast<float>(kReplacedBits);
  for (int64_t key = first + 1; key < last && t.causal; ++key)
    for (int64_t i = 0; i < std::min(count, key - first); ++i) values[key * block + i] = -kInfinity;
  result.scores = values;
  result.causal = t.causal;
  result.replaces = t.keep != nullptr;
  result.fill = t.fill;
  result.last_key = last;
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(block_of);
HWY_EXPORT(scratch_bytes_of);
HWY_EXPORT(terms_bytes_of);
HWY_EXPORT(make_terms);
HWY_EXPORT(add_keys);
HWY_EXPORT(attend_block);

int64_t attention_block(int64_t num_queries) { return HWY_DYNAMIC_DISPATCH(block_of)(num_queries); }

size_t attention_scratch_bytes(int64_t width, int64_t value_width) {
  return HWY_DYNAMIC_DISPATCH(scratch_bytes_of)(width, value_width);
}

size_t block_terms_bytes(int64_t num_queries, int64_t num_keys) {
  return HWY_DYNAMIC_DISPATCH(terms_bytes_of)(num_queries, num_keys);
}

BlockTerms make_block_terms(const ScoreTerms& terms, const AttentionHead& head, int64_t first_query, void* memory) {
  return HWY_DYNAMIC_DISPATCH(make_terms)(terms, head, first_query, memory);
}

void add_key_terms(const ScoreTerms& terms, float* memory, BlockTerms& block) {
  HWY_DYNAMIC_DISPATCH(add_keys)(terms, memory, block);
}

void attend(const AttentionHead& head, int64_t first_query, const BlockTerms& terms, void* scratch) {
  HWY_DYNAMIC_DISPATCH(attend_block)(head, first_query, terms, scratch);
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
