#pragma once

#include <cstddef>

#include "runtime/core/result.h"

namespace plica {

// Memory of a session whose base never moves: a range of addresses is reserved once, pages are mapped up to what the largest plan needs.
// Host memory (mmap). Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  // Makes [base, base + bytes) usable; kOutOfMemory naming the bytes wanted and had where that cannot be. Never shrinks, never moves.
  Status grow(size_t bytes);

  std::byte* base() const { return base_; }
  size_t num_bytes() const { return num_bytes_; }

 private:
  void reserve(size_t bytes);

  std::byte* base_ = nullptr;
  size_t num_bytes_ = 0, reserved_bytes_ = 0;
};

}  // namespace plica
