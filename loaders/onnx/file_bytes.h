#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "plica/error.h"

namespace plica::onnx {

// Memory for `bytes` bytes, aligned to 64 bytes, not initialised; never null. `what` names it in the error.
Result<std::shared_ptr<void>> allocate(size_t bytes, const std::string& what);

// The bytes of a regular file, mapped or read into memory (aligned to 64 bytes). Copies share them.
class FileBytes {
 public:
  FileBytes() = default;

  // kInvalidInput, naming the path, where it is no regular file or cannot be read.
  static Result<FileBytes> open(const std::string& path, bool map);

  // A copy of bytes that are at hand.
  static Result<FileBytes> copy_of(std::span<const std::byte> bytes);

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_.get()), size_}; }
  const std::shared_ptr<const void>& owner() const { return data_; }
  bool mapped() const { return mapped_; }

 private:
  std::shared_ptr<const void> data_;
  size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace plica::onnx
