#include "tools/machine_limit.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace plica {
namespace {

typedef float Vector __attribute__((vector_size(64)));
constexpr int kChains = 8;  // independent sums, enough to fill the pipes
constexpr int kLanes = 16;

// The loader picks the clone, earlier than the thread sanitizer can stand.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define PLICA_EVERY_X86 __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLICA_EVERY_X86
#endif

// x = x * a + b, `count` times in each chain.
PLICA_EVERY_X86 float multiply_add(int64_t count, float a_value, float b_value) {
  const Vector a = Vector{} + a_value;
  const Vector b = Vector{} + b_value;
  Vector x0 = a, x1 = b, x2 = a, x3 = b, x4 = a, x5 = b, x6 = a, x7 = b;
  for (int64_t i = 0; i < count; ++i) {
    x0 = x0 * a + b;
    x1 = x1 * a + b;
    x2 = x2 * a + b;
    x3 = x3 * a + b;
    x4 = x4 * a + b;
    x5 = x5 * a + b;
    x6 = x6 * a + b;
    x7 = x7 * a + b;
  }
  const Vector sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
  return sum[0] + sum[kLanes - 1];
}

// Seconds that `work(thread)` takes on all threads at once; the best of a few.
double best_time(int num_threads, const std::function<void(int)>& work) {
  double best = 1e9;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 1; i < num_threads; ++i) threads.emplace_back(work, i);
    work(0);
    for (std::thread& thread : threads) thread.join();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

MachineLimit measure_machine(int num_threads) {
  constexpr int64_t kCount = 4'000'000;
  constexpr size_t kBytes = size_t{64} << 20;  // of each of two buffers a thread
  volatile float kept = 0;
  const double arithmetic = best_time(num_threads, [&](int) { kept = multiply_add(kCount, 0.999F, 0.001F); });
  std::vector<std::unique_ptr<char[]>> buffers;
  for (int i = 0; i < 2 * num_threads; ++i) {
    buffers.push_back(std::make_unique<char[]>(kBytes));
    std::memset(buffers.back().get(), i, kBytes);
  }
  const double copying = best_time(num_threads, [&](int thread) {
    const auto index = static_cast<size_t>(2 * thread);
    std::memcpy(buffers[index].get(), buffers[index + 1].get(), kBytes);
  });
  const double threads = num_threads;
  return {threads * 2.0 * kLanes * kChains * static_cast<double>(kCount) / arithmetic,
          threads * 2.0 * static_cast<double>(kBytes) / copying};
}

}  // namespace plica
