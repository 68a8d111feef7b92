#include "ops/cpu/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

StridedCopy make(std::vector<int64_t> sizes, std::vector<int64_t> from, std::vector<int64_t> to) {
  StridedCopy c;
  c.rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), c.sizes.begin());
  std::copy(from.begin(), from.end(), c.from.begin());
  std::copy(to.begin(), to.end(), c.to.begin());
  return c;
}

// Copies to dense memory and compares with the definition.
template <class T>
void expect_right(const std::vector<int64_t>& sizes, const std::vector<int64_t>& from, int num_threads) {
  std::vector<int64_t> to(sizes.size());
  int64_t count = 1, reach = 1, start = 0;
  for (size_t k = sizes.size(); k-- > 0;) {
    to[k] = count;
    count *= sizes[k];
    if (sizes[k] > 1) reach += (sizes[k] - 1) * std::abs(from[k]), start += from[k] < 0 ? (1 - sizes[k]) * from[k] : 0;
  }
  std::vector<T> source(reach), found(count + 1, T{77}), wanted(count, T{});
  std::iota(source.begin(), source.end(), T{1});
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = start;
    for (size_t k = sizes.size(); k-- > 0; rest /= sizes[k]) at += rest % sizes[k] * from[k];
    wanted[i] = source[at];
  }
  copy_strided(simplify(make(sizes, from, to)), sizeof(T), source.data() + start, found.data(), num_threads);
  EXPECT_EQ(found.back(), T{77});
  found.pop_back();
  EXPECT_EQ(found, wanted);
}

template <class T>
void expect_all_right() {
  for (int threads : {1, 3}) {
    expect_right<T>({}, {}, threads);
    expect_right<T>({0, 5}, {5, 1}, threads);
    expect_right<T>({1}, {1}, threads);
    expect_right<T>({1000}, {2}, threads);
    expect_right<T>({7, 13}, {1, 7}, threads);  // transposed
    expect_right<T>({70, 133}, {1, 70}, threads);
    expect_right<T>({2, 3, 37, 5}, {555, 5, 15, 1}, threads);   // heads in front
    expect_right<T>({2, 37, 3, 5}, {555, 5, 185, 1}, threads);  // and back
    expect_right<T>({3, 40, 50}, {2000, 1, 40}, threads);
    expect_right<T>({40, 3, 50}, {1, 2000, 40}, threads);
    expect_right<T>({4, 5, 6}, {0, 6, 1}, threads);  // broadcast
    expect_right<T>({4, 5, 6}, {1, 0, 4}, threads);
    expect_right<T>({6, 7}, {-7, -1}, threads);  // reversed
    expect_right<T>({2, 2, 2, 2, 2}, {1, 4, 2, 16, 8}, threads);
  }
}

TEST(StridedCopy, TakesEveryShapeAndElement) {
  on_every_target([] {
    expect_all_right<uint8_t>();
    expect_all_right<uint16_t>();
    expect_all_right<uint32_t>();
    expect_all_right<uint64_t>();
  });
}

TEST(StridedCopy, WritesStridedMemory) {
  std::vector<float> from(12), to(40, -1.0f);
  std::iota(from.begin(), from.end(), 0.0f);
  copy_strided(simplify(make({3, 4}, {4, 1}, {2, 10})), 4, from.data(), to.data(), 1);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(to[i * 2 + j * 10], i * 4 + j);
}

TEST(StridedCopy, JoinsAxes) {
  const StridedCopy c = simplify(make({2, 1, 3, 4}, {12, 99, 4, 1}, {12, 0, 4, 1}));
  EXPECT_EQ(c.rank, 1);
  EXPECT_EQ(c.sizes[0], 24);
}

}  // namespace
}  // namespace plica::cpu
