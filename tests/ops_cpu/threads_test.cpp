#include "ops/cpu/threads.h"

#include <gtest/gtest.h>

#include <vector>

namespace plica::cpu {
namespace {

TEST(ParallelFor, CoversEachItemOnce) {
  for (int threads : {1, 2, 3, 7})
    for (int64_t n : {0, 1, 2, 5, 64, 1000})
      for (int64_t grain : {1, 3, 100, 5000}) {
        std::vector<std::atomic<int>> hits(n);
        parallel_for(n, grain, threads, [&](int64_t begin, int64_t end, int thread) {
          EXPECT_GE(thread, 0);
          EXPECT_LT(thread, threads);
          for (int64_t i = begin; i < end; ++i) ++hits[i];
        });
        for (auto& h : hits) EXPECT_EQ(h, 1);
      }
}

TEST(ParallelFor, RunsInlineWhereOnePieceIsEnough) {
  int calls = 0;
  parallel_for(10, 10, 4, [&](int64_t begin, int64_t end, int thread) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
    EXPECT_EQ(thread, 0);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ParallelFor, ShowsTheCallerWhatItsThreadsWrote) {
  std::vector<int> squares(1000);
  parallel_for(1000, 1, 2, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) squares[i] = static_cast<int>(i * i);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(squares[i], i * i);
}

}  // namespace
}  // namespace plica::cpu
