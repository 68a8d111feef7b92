#pragma once

#include "tests/harness/random_layers.h"

namespace plica {

// Attention of every kind.
class RandomAttention : public RandomLayers {
 protected:
  using RandomLayers::RandomLayers;

  // [.., length, heads * width] to [.., heads, length, width], or with the last two the other way.
  std::string split(const std::string& x, int64_t heads, int64_t width, bool transposed);

  // The vectors of q, k and v: products of their own, or cut out of one.
  std::vector<std::string> projections(const std::string& x, int64_t columns);

  // A bias from the pair representation, [heads, length, length].
  std::string pair_bias(int64_t heads);

  // Scores with their scale in one of its places.
  std::string scores(std::string q, std::string k, int64_t width);

  // A condition that is true for about three of four.
  std::string kept(const Shape& sizes);

  std::string masked(const std::string& s, int64_t heads);

  std::string merged(const std::string& o, int64_t columns);

  std::string capped(const std::string& s);

  // Scores (.., heads, length, length) that had their heads last for a while.
  std::string turned(const std::string& s, bool has_bias);

  // The product of v and the weights of scores: some of these are on its right, some are an output too.
  std::string weighed(const std::string& s, const std::string& v);

  // Every step-th element of the last of the axes (.., heads, length, width) from start on: half of them.
  std::string half(const std::string& x, int64_t heads, int64_t width, int64_t start, int64_t by);

  // a and b side by side, or pair by pair.
  std::string joined_halves(std::string a, std::string b, int64_t heads, int64_t width, bool pairs);

  // Rotary embedding of x (.., heads, length, width) by tables of whole rows, or of half of each.
  std::string rotated(const std::string& x, int64_t heads, int64_t width, bool pairs, bool whole);

  std::string attention(const std::string& x);

  // Tied rows of x (batch, rows, length, channels): their scores are summed before the softmax, which weighs all of them.
  std::string tied_attention(const std::string& x);

  // A mean query of each head attends to keys and values that all heads share; its result is gated place by place.
  std::string global_attention(const std::string& x);

  std::string pair_;                  // (length, length, kPairChannels)
  std::vector<std::string> weights_;  // of attention, outputs beside the activations
  bool is_biased_ = false;            // scores of the attention being written have a bias that differs between heads
  static constexpr int64_t kPairChannels = 4;
};

}  // namespace plica
