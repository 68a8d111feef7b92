#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace plica::cpu {

// Uniform in [-1, 1].
inline std::vector<float> random_values(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  std::generate(values.begin(), values.end(), [&] { return uniform(rng); });
  return values;
}

struct Free {
  void operator()(void* p) const { ::operator delete (p, std::align_val_t{64}); }
};

// Scratch memory of exactly so many bytes, with 64 bytes behind it that nothing may write.
inline std::unique_ptr<float, Free> aligned(size_t bytes) {
  return std::unique_ptr<float, Free>(static_cast<float*>(::operator new (bytes + 64, std::align_val_t{64})));
}

}  // namespace plica::cpu
