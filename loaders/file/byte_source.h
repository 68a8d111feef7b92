#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plica/error.h"

namespace plica {

// Bytes read front to back. `name` is what messages call it: a path, or "standard input".
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Up to `size` bytes; 0 only at the end.
  virtual Result<size_t> read(void* out, size_t size) = 0;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// All of `size` bytes, or kInvalidInput saying how many were missing.
Status read_exactly(ByteSource& source, void* out, size_t size);

// A file opened for reading at any offset.
class InputFile {
 public:
  static Result<std::shared_ptr<InputFile>> open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }
  Status read_at(uint64_t offset, void* out, size_t size) const;

 private:
  InputFile(std::string path, int fd, uint64_t size_bytes) : path_(std::move(path)), fd_(fd), size_bytes_(size_bytes) {}

  std::string path_;
  int fd_;
  uint64_t size_bytes_;
};

// The `size` bytes of a file from `offset`.
std::unique_ptr<ByteSource> range_source(std::shared_ptr<InputFile> file, uint64_t offset, uint64_t size);

enum class Deflate { kRaw, kGzip };

// Inflates `packed`. kGzip reads any number of members one after the other.
std::unique_ptr<ByteSource> inflate_source(std::unique_ptr<ByteSource> packed, Deflate format);

// A file, or standard input for "-"; what starts with the two bytes of gzip is inflated. Once `stop`, a descriptor, can be read
// from, reading gives an Error, even where it waits for input.
Result<std::unique_ptr<ByteSource>> open_text(const std::string& path, int stop = -1);

// How many bytes of a byte order mark the text begins with; `head` is its start. UTF-16 is an error.
Result<size_t> skip_byte_order_mark(const std::string& name, std::string_view head);

}  // namespace plica
