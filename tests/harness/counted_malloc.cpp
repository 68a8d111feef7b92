#include "tests/harness/counted_malloc.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> count = 0;
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounts = false;
#else
constexpr bool kCounts = true;

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t number, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

[[gnu::visibility("default")]] void* malloc(size_t bytes) { return ++count, __libc_malloc(bytes); }
[[gnu::visibility("default")]] void* calloc(size_t number, size_t bytes) {
  return ++count, __libc_calloc(number, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* old, size_t bytes) { return ++count, __libc_realloc(old, bytes); }
[[gnu::visibility("default")]] void* memalign(size_t alignment, size_t bytes) {
  return ++count, __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(size_t alignment, size_t bytes) {
  return ++count, __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}
}
#endif

namespace plica {

int64_t num_allocations() { return count; }

bool counts_allocations() { return kCounts; }

}  // namespace plica
