#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plica {

// A graph in text notation that was put together by chance, and the structures that it spells.
struct RandomStructures {
  std::string text;
  std::map<std::string, int> structures;
};

// A few blocks, one behind the other, on activations (.., length, channels): norms, gated and residual projections, activations,
// attention (random_attention.h), outer product means, triangle multiplications, each in one of the spellings that exporters
// and authors have. Shapes are small and mostly odd. The same for the same seed.
RandomStructures random_structures(uint32_t seed);

}  // namespace plica
