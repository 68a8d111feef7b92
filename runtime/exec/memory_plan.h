#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace plica {

// When a stretch of memory is needed: from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;
  bool is_edge = false;  // the caller may bring the memory: nothing else is placed higher for its sake
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one a lifetime, multiples of kOffsetAlignment
  size_t arena_bytes = 0;
  size_t inner_bytes = 0;  // of the arena, where the caller brings all that is an edge
  size_t peak_bytes = 0;   // most bytes live at one step, each rounded up to the alignment: no plan needs less
};

// What kernels are promised of each tensor's memory. What a plan places itself begins a line of every cache (on an H200 of two lines that
// it brings as one): rows that straddle lines would be read twice.
constexpr size_t kMemoryAlignment = 64;
constexpr size_t kOffsetAlignment = 256;

// Offsets such that no two lifetimes that share a step share a byte. One of no bytes gets a valid offset too.
// Greedy with best fit (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference"), in several orders, the
// smallest arena taken: inside of the edges where their memory is asked for by need (`inner_first`), else as a whole. Deterministic.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, bool inner_first = true);

// Most bytes live at one step, each rounded up to the alignment.
size_t live_peak_bytes(std::span<const Lifetime> lifetimes);
size_t inner_peak_bytes(std::span<const Lifetime> lifetimes);  // without edges

// A row a step: [offset, end) of what is live, and its sum; then the usage, peak / arena.
std::string to_text(std::span<const Lifetime> lifetimes, const MemoryPlan& plan);

}  // namespace plica
