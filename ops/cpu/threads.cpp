#include "ops/cpu/threads.h"

#include <omp.h>

namespace plica::cpu {
namespace {

struct Team {
  void (*task)(void*, int);
  void* context;
  std::atomic<int> started{0}, finished{0};
};

// The atomics say to a thread sanitizer what the barriers of the OpenMP runtime, which it cannot see, do.
void run_member(Team& team, int thread) {
  team.started.load(std::memory_order_acquire);
  team.task(team.context, thread);
  team.finished.fetch_add(1, std::memory_order_release);
}

__attribute__((noinline, no_sanitize("thread"))) void fork_and_join(Team* team, int num_threads) {
#pragma omp parallel num_threads(num_threads)
  run_member(*team, omp_get_thread_num());
}

}  // namespace

void run_team(int num_threads, void (*task)(void* context, int thread), void* context) {
  if (num_threads <= 1) return task(context, 0);
  Team team{task, context};
  team.started.store(1, std::memory_order_release);
  fork_and_join(&team, num_threads);
  team.finished.load(std::memory_order_acquire);
}

}  // namespace plica::cpu
