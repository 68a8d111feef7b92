#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace plica::cpu {

// Runs task(context, thread) for thread = 0 ... num_threads-1 on a team of OpenMP threads and waits for all. The
// calling thread is thread 0. Nothing is allocated once a team of that size exists.
void run_team(int num_threads, void (*task)(void* context, int thread), void* context);

// Calls fn(begin, end, thread) on disjoint pieces of at least `grain` items that cover [0, n). Pieces are handed out as
// threads become free, so a piece's result must not depend on the thread that makes it; `thread` < num_threads only
// picks scratch memory. Runs inline where one thread or one piece is enough, else always on the whole team: OpenMP makes threads
// and allocates where a team's size changes.
template <class Fn>
void parallel_for(int64_t n, int64_t grain, int num_threads, const Fn& fn) {
  constexpr int64_t kPiecesPerThread = 8;
  if (n <= 0) return;
  if (num_threads <= 1 || n <= grain) return fn(int64_t{0}, n, 0);
  struct Context {
    const Fn& fn;
    int64_t n, piece;
    std::atomic<int64_t> next;
  } context{fn, n, std::max({int64_t{1}, grain, n / (num_threads * kPiecesPerThread)}), 0};
  auto task = [](void* opaque, int thread) {
    auto& c = *static_cast<Context*>(opaque);
    for (int64_t begin; (begin = c.next.fetch_add(c.piece, std::memory_order_relaxed)) < c.n;)
      c.fn(begin, std::min(c.n, begin + c.piece), thread);
  };
  run_team(num_threads, task, &context);
}

}  // namespace plica::cpu
