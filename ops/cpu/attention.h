#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/matrix_ref.h"

namespace plica::cpu {

// One head of one batch element: y = softmax(scale * (q @ k^T) + terms) @ v * sigmoid(gate). Rows are adjacent values,
// `stride` elements apart.
struct AttentionHead {
  int64_t num_queries = 0, num_keys = 0;
  int64_t width = 0, value_width = 0;  // D, E
  const float* q = nullptr;            // (num_queries, D)
  const float* k = nullptr;            // (num_keys, D)
  const float* v = nullptr;            // (num_keys, E)
  float* y = nullptr;                  // (num_queries, E)
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, y_stride = 0;
  MatrixRef gate = {};  // (num_queries, E), optional
  float scale = 1;
  bool zeroes_masked = false;                          // weights of rows whose scores are all -inf are 0, not NaN
  bool zeroes_nan = false;                             // and those of rows with scores of NaN or +inf
  const float *k_ahead = nullptr, *v_ahead = nullptr;  // another head's k and v, brought closer meanwhile; optional
};

// What changes the scores (num_queries, num_keys): bias and mask are added; where keep is 0 the score becomes `fill`;
// where causal, key m is hidden from query l < m.
struct ScoreTerms {
  MatrixRef bias = {}, mask = {};
  const uint8_t* keep = nullptr;
  int64_t keep_row_stride = 0, keep_col_stride = 0;
  float fill = 0;
  bool causal = false;

  bool any() const { return bias.data || mask.data || keep || causal; }
};

// The terms of one block of queries in the order that `attend` reads. Heads and batch elements with the same terms share them.
struct BlockTerms {
  const float* scores = nullptr;        // (num_keys, block): added to the scores, where not kReplaced
  const float* keys = nullptr;          // (num_keys): likewise, the same for all queries; after `scores`
  bool replaces = false;                // some of `scores` may be kReplaced
  float fill = 0;                       // of what is kReplaced
  bool causal = false;                  // a row sees keys up to itself
  int64_t first_key = 0, last_key = 0;  // all others have no weight, but in a row that has none from these
  bool hides = false;                   // some of them have a term of -1e9 or less that is finite
};

// How many queries a block takes of a sequence of that length: blocks are even, and fill the registers of this machine.
int64_t attention_block(int64_t num_queries);

size_t attention_scratch_bytes(int64_t width, int64_t value_width);  // of attend, one thread
size_t block_terms_bytes(int64_t num_queries, int64_t num_keys);     // of one block

// Of the queries [first, first + attention_block), as many as there are. `memory` holds block_terms_bytes.
BlockTerms make_block_terms(const ScoreTerms& terms, const AttentionHead& head, int64_t first_query, void* memory);

// Adds terms that are the same for all queries (row strides are not read) to those of a block, which replace nothing. `memory`
// holds num_keys floats. Keys at both ends that are hidden from all rows are left out.
void add_key_terms(const ScoreTerms& terms, float* memory, BlockTerms& block);

// y of the same queries. The scores of 64 keys at a time are the only ones that exist (online softmax, in fp32).
void attend(const AttentionHead& head, int64_t first_query, const BlockTerms& terms, void* scratch);

}  // namespace plica::cpu
