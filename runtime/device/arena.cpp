#include "runtime/device/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace plica {
namespace {

constexpr size_t kPage = size_t{1} << 21;  // so that huge pages can serve it

size_t round_up(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The machine's memory, or what a container or this process may have of it. The system grants more and kills the process that uses it.
size_t memory_bytes() {
  const auto pages = static_cast<size_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  size_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    size_t limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);  // else there is no file, or it says "max"
  }
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0) bytes = std::min<size_t>(bytes, addresses.rlim_cur);
  return bytes;
}

}  // namespace

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      num_bytes_(std::exchange(other.num_bytes_, 0)),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(num_bytes_, other.num_bytes_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  return *this;
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, reserved_bytes_);
}

// Where the process may not have so many addresses (ulimit -v), half of them, and so on.
void Arena::reserve(size_t bytes) {
  for (size_t range = round_up(memory_bytes()); range >= bytes && range > 0; range /= 2) {
    void* base = mmap(nullptr, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    madvise(base, range, MADV_HUGEPAGE);  // a wish; where it is not granted, nothing is lost
    base_ = static_cast<std::byte*>(base);
    reserved_bytes_ = range;
    return;
  }
}

Status Arena::grow(size_t bytes) {
  if (bytes <= num_bytes_) return {};
  const size_t memory = memory_bytes();
  const auto fail = [&] {
    return Error(Code::kOutOfMemory, "the arena needs " + std::to_string(bytes) +
                                         " bytes; the system gives no more than " +
                                         std::to_string(base_ == nullptr ? memory : std::min(memory, reserved_bytes_)));
  };
  if (bytes > memory) return fail();
  if (base_ == nullptr) reserve(bytes);
  if (bytes > reserved_bytes_) return fail();
  const size_t wanted = std::min(round_up(bytes), reserved_bytes_);
  if (mprotect(base_ + num_bytes_, wanted - num_bytes_, PROT_READ | PROT_WRITE) != 0) return fail();
  num_bytes_ = wanted;
  return {};
}

}  // namespace plica
