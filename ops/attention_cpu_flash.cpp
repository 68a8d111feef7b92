#include "ops/attention_cpu_flash.h"

#include <algorithm>

#include "ops/cpu/attention.h"
#include "ops/cpu/threads.h"
#include "ops/leading_axes.h"

namespace plica::attention_flash {
namespace {

enum Input : size_t { kQ, kK, kV, kBias, kMask, kGate, kSegments };
constexpr size_t kY = 6, kNumOperands = 7;  // q, k, v, bias, mask, gate, y
constexpr int64_t kGroupBytes = 512 << 10, kMaxGroup = 16;
constexpr int64_t kLong = 1 << 20;  // a length whose blocks are the largest

using AllStrides = std::array<AxisStrides, kNumOperands>;
using Axes = LeadingAxes<kNumOperands>;

AllStrides strides_of(const KernelArgs& args, size_t rank) {
  AllStrides strides{};
  for (size_t i = 0; i < kY; ++i)
    if (args.has(i)) strides[i] = strides_in(args.in[i].type, rank);
  strides[kY] = strides_in(args.out[0].type, rank);
  return strides;
}

// Which of bias and mask differ from query to query; the others are terms of the keys. A bool mask that differs replaces whole scores,
// so a bias beside it is taken with it.
struct PerScore {
  bool bias, mask;

  explicit PerScore(const AllStrides& strides, size_t row) : mask(strides[kMask][row] != 0) {
    bias = mask || strides[kBias][row] != 0;
  }
};

// The leading axes along which terms of scores change, or those along which they do not.
Axes some_axes(const Shape& shape, const AllStrides& strides, bool with_terms) {
  const PerScore per_score(strides, shape.size() - 2);
  AxisSizes sizes{};
  AllStrides taken{};
  size_t rank = 0;
  for (size_t k = 0; k + 2 < shape.size(); ++k) {
    const bool changes = (per_score.bias && strides[kBias][k] != 0) || (per_score.mask && strides[kMask][k] != 0);
    if (changes != with_terms) continue;
    sizes[rank] = shape[k];
    for (size_t i = 0; i < kNumOperands; ++i) taken[i][rank] = strides[i][k];
    ++rank;
  }
  return Axes(std::span(sizes).first(rank), taken);
}

// Queries and keys that see one another: all, or one packed sequence.
struct Span {
  int64_t first_query, num_queries, first_key, num_keys;
};

// What a thread holds: terms of one block of queries for a group of heads, terms of the keys, scratch of `attend`.
struct Memory {
  int64_t group = 1;  // heads
  size_t block_bytes = 0, keys_bytes = 0, attend_bytes;

  Memory(int64_t num_keys, int64_t width, int64_t value_width, bool any_terms)
      : attend_bytes((cpu::attention_scratch_bytes(width, value_width) + 63) / 64 * 64) {
    if (!any_terms) return;
    block_bytes = (cpu::block_terms_bytes(kLong, num_keys) + 63) / 64 * 64;
    group = std::clamp<int64_t>(kGroupBytes / std::max<int64_t>(static_cast<int64_t>(block_bytes), 1), 1, kMaxGroup);
    keys_bytes = (static_cast<size_t>(num_keys) * sizeof(float) + 63) / 64 * 64;
  }
  size_t group_bytes() const { return block_bytes * static_cast<size_t>(group); }
  size_t thread_bytes() const { return group_bytes() + keys_bytes + attend_bytes; }
};

class Run {
 public:
  Run(const ops::Attention& op, const KernelArgs& args)
      : args_(args),
        rank_(args.out[0].type.shape.size()),
        strides_(strides_of(args, rank_)),
        per_score_(strides_, rank_ - 2),
        term_axes_(some_axes(args.out[0].type.shape, strides_, true)),
        shared_axes_(some_axes(args.out[0].type.shape, strides_, false)),
        memory_(args.in[kK].type.shape.end()[-2], args.in[kQ].type.shape.back(), args.in[kV].type.shape.back(),
                args.has(kBias) || args.has(kMask) || op.causal) {
    const size_t row = rank_ - 2;
    head_.width = args.in[kQ].type.shape.back();
    head_.value_width = args.in[kV].type.shape.back();
    head_.scale = static_cast<float>(op.scale);
    head_.zeroes_masked = op.zero_rows != ops::ZeroRows::kNone;
    head_.zeroes_nan = op.zero_rows == ops::ZeroRows::kUndefined;
    head_.q_stride = strides_[kQ][row];
    head_.k_stride = strides_[kK][row];
    head_.v_stride = strides_[kV][row];
    head_.y_stride = strides_[kY][row];
    fill_ = static_cast<float>(op.fill);
    causal_ = op.causal;
  }

  void attend(const Span& span) const {
    const bool any = terms_at({}, span, true).any();
    const int64_t block = cpu::attention_block(span.num_queries), blocks = (span.num_queries + block - 1) / block;
    const int64_t shared = shared_axes_.count(), groups = (term_axes_.count() + memory_.group - 1) / memory_.group;
    const int64_t units = groups * blocks;
    // Where terms are shared, a unit is one block for a group of heads and some of what shares them, so that the keys of one row
    // are read while they are near; without terms it is a block, for the same reason.
    const int64_t wanted = any ? (4 * args_.num_threads + units - 1) / std::max<int64_t>(units, 1) : shared;
    const int64_t chunks =
        args_.num_threads == 1 && any ? 1 : std::clamp<int64_t>(wanted, 1, std::max<int64_t>(shared, 1));
    const int64_t chunk = (shared + chunks - 1) / chunks;
    cpu::parallel_for(units * chunks, 1, args_.num_threads, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = any ? i / chunks : i % units, part = any ? i % chunks : i / units;
        attend_group(span, unit / blocks, unit % blocks * block, {part * chunk, std::min(shared, (part + 1) * chunk)},
                     thread);
      }
    });
  }

  // Rows that see no key.
  void zero_rows(int64_t first, int64_t last) const {
    AllStrides only_y{};
    only_y[kY] = strides_[kY];
    const Axes heads(std::span(args_.out[0].type.shape).first(rank_ - 2), only_y);
    for (int64_t i = 0; i < heads.count(); ++i)
      for (int64_t row = first; row < last; ++row)
        std::fill_n(static_cast<float*>(args_.out[0].data) + heads.at(i)[kY] + row * head_.y_stride, head_.value_width,
                    0.0f);
  }

 private:
  struct Heads {
    int64_t first, last;  // along the shared axes
  };
  using Offsets = std::array<int64_t, kNumOperands>;

  const float* data(size_t i, int64_t offset) const { return static_cast<const float*>(args_.in[i].data) + offset; }

  // The terms that differ from query to query, or the others.
  cpu::ScoreTerms terms_at(const Offsets& at, const Span& span, bool of_scores) const {
    cpu::ScoreTerms terms;
    terms.fill = fill_;
    terms.causal = of_scores && causal_;
    const size_t row = rank_ - 2, last = rank_ - 1;
    const auto start = [&](size_t i) {
      return at[i] + span.first_query * strides_[i][row] + span.first_key * strides_[i][last];
    };
    if (args_.has(kBias) && per_score_.bias == of_scores)
      terms.bias = {data(kBias, start(kBias)), strides_[kBias][row], strides_[kBias][last]};
    if (!args_.has(kMask) || per_score_.mask != of_scores) return terms;
    if (args_.in[kMask].type.dtype != DType::kBool) {
      terms.mask = {data(kMask, start(kMask)), strides_[kMask][row], strides_[kMask][last]};
    } else {
      terms.keep = static_cast<const uint8_t*>(args_.in[kMask].data) + start(kMask);
      terms.keep_row_stride = strides_[kMask][row];
      terms.keep_col_stride = strides_[kMask][last];
    }
    return terms;
  }

  void attend_group(const Span& span, int64_t group, int64_t first_query, Heads heads, int thread) const {
    std::byte* mine = static_cast<std::byte*>(args_.scratch) + static_cast<size_t>(thread) * memory_.thread_bytes();
    const int64_t first = group * memory_.group, count = std::min(memory_.group, term_axes_.count() - first);
    std::array<cpu::BlockTerms, kMaxGroup> blocks;
    std::array<Offsets, kMaxGroup> of_terms;
    cpu::AttentionHead head = head_;
    head.num_queries = span.num_queries;
    head.num_keys = span.num_keys;
    for (int64_t t = 0; t < count; ++t) {
      const auto i = static_cast<size_t>(t);
      of_terms[i] = term_axes_.at(first + t);
      blocks[i] =
          cpu::make_block_terms(terms_at(of_terms[i], span, true), head, first_query, mine + i * memory_.block_bytes);
    }
    for (int64_t row = heads.first; row < heads.last; ++row)
      for (int64_t t = 0; t < count; ++t) {
        Offsets at = shared_axes_.at(row), next = shared_axes_.at(std::min(row + 1, shared_axes_.count() - 1));
        for (size_t k = 0; k < kNumOperands; ++k) {
          at[k] += of_terms[static_cast<size_t>(t)][k];
          next[k] += of_terms[static_cast<size_t>(t)][k];
        }
        attend_block(span, {at, next}, first_query, blocks[static_cast<size_t>(t)], mine + memory_.group_bytes());
      }
  }

  // Where the operands of a head are, and those of the head that follows.
  struct Place {
    Offsets at, next;
  };

  // One block of queries of one head; `memory` takes terms of the keys, then scratch.
  void attend_block(const Span& span, const Place& place, int64_t first_query, cpu::BlockTerms block,
                    std::byte* memory) const {
    const auto& [at, next] = place;
    cpu::AttentionHead head = head_;
    head.num_queries = span.num_queries;
    head.num_keys = span.num_keys;
    head.q = data(kQ, at[kQ] + span.first_query * head.q_stride);
    head.k = data(kK, at[kK] + span.first_key * head.k_stride);
    head.v = data(kV, at[kV] + span.first_key * head.v_stride);
    head.y = static_cast<float*>(args_.out[0].data) + at[kY] + span.first_query * head.y_stride;
    if (args_.has(kGate)) {
      const int64_t row = strides_[kGate][rank_ - 2];
      head.gate = {data(kGate, at[kGate] + span.first_query * row), row, strides_[kGate][rank_ - 1]};
    }
    head.k_ahead = data(kK, next[kK] + span.first_key * head.k_stride);
    head.v_ahead = data(kV, next[kV] + span.first_key * head.v_stride);
    const cpu::ScoreTerms of_keys = terms_at(at, span, false);
    if (of_keys.any()) cpu::add_key_terms(of_keys, reinterpret_cast<float*>(memory), block);
    cpu::attend(head, first_query, block, memory + memory_.keys_bytes);
  }

  const KernelArgs& args_;
  size_t rank_;
  AllStrides strides_;
  PerScore per_score_;
  Axes term_axes_, shared_axes_;
  Memory memory_;
  cpu::AttentionHead head_;
  float fill_ = 0;
  bool causal_ = false;
};

bool rows_adjacent(const TensorType& type) {
  return type.shape.back() <= 1 || strides_in(type, type.shape.size())[type.shape.size() - 1] == 1;
}

}  // namespace

const char* declines(const ops::Attention&, const Case& c) {
  for (size_t i = 0; i < kSegments; ++i) {
    if (!c.has(i) || (i == kMask && c.in[i].type->dtype == DType::kBool)) continue;
    if (c.in[i].type->dtype != DType::kF32) return "an operand is not f32";
  }
  for (size_t i : {kQ, kK, kV})
    if (!rows_adjacent(*c.in[i].type)) return "rows of q, k or v are not adjacent values";
  if (!rows_adjacent(*c.out[0].type)) return "rows of y are not adjacent values";
  return nullptr;
}

size_t scratch_bytes(const ops::Attention& op, const Case& c) {
  const Memory memory(c.in[kK].type->shape.end()[-2], c.in[kQ].type->shape.back(), c.in[kV].type->shape.back(),
                      c.has(kBias) || c.has(kMask) || op.causal);
  return memory.thread_bytes() * static_cast<size_t>(c.device.num_threads);
}

void run(const ops::Attention& op, const KernelArgs& args) {
  const int64_t num_queries = args.out[0].type.shape.end()[-2], num_keys = args.in[kK].type.shape.end()[-2];
  if (num_elements(args.out[0].type.shape) == 0) return;
  const Run all(op, args);
  if (num_keys == 0) return all.zero_rows(0, num_queries);
  if (!args.has(kSegments)) return all.attend({0, num_queries, 0, num_keys});
  const TensorView& segments = args.in[kSegments];
  const int64_t step = strides_in(segments.type, 1)[0];
  const auto* offsets = static_cast<const int64_t*>(segments.data);
  int64_t done = 0;
  for (int64_t g = 0; g + 1 < segments.type.shape[0]; ++g) {
    const int64_t begin = offsets[g * step], end = offsets[(g + 1) * step];
    if (begin < done || end < begin || end > num_keys) {
      if (args.fault->what == nullptr) *args.fault = {"segment offset", end, num_keys};
      return;
    }
    all.zero_rows(done, begin);
    if (begin < end) all.attend({begin, end - begin, begin, end - begin});
    done = end;
  }
  all.zero_rows(done, num_queries);
}

}  // namespace plica::attention_flash
