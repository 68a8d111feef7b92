#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plica {

struct BatchLimits {
  int64_t max_tokens = 4096;   // of a batch, padding included; a longer sequence is a batch of its own
  int64_t max_records = 0;     // of a batch; 0: any number
  bool equal_lengths = false;  // no padding: for models whose results depend on it
};

// Which records run together. Every record is in exactly one batch.
struct BatchPlan {
  struct Batch {
    std::vector<size_t> records;  // indices into the lengths, longest first
    int64_t width = 0;            // tokens of the longest
  };

  std::vector<Batch> batches;  // the most tokens first
  int64_t num_records = 0;
  int64_t num_tokens = 0;         // without padding
  int64_t num_padded_tokens = 0;  // with padding: sum of width times records

  double padding_waste() const;  // share of the padded tokens that is padding
  double mean_batch() const;     // records a batch
};

// Puts records of like length together: sorted by length, a batch takes the next record while its padded size stays
// within the limits and the record fills at least three quarters of the width (short ones: all but 32 tokens).
BatchPlan plan_batches(std::span<const int64_t> lengths, const BatchLimits& limits);

}  // namespace plica
