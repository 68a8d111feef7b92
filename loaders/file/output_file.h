#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plica/error.h"

namespace plica {

// A file that appears under its name only when it is complete: it is written in the same folder without a name (where the
// file system cannot: under a temporary one) and named by commit(). Without commit() nothing stays. A path that exists and is no regular file (a pipe, a device)
// is written directly.
class OutputFile {
 public:
  // kInvalidInput with path and reason where the folder cannot be written.
  static Result<OutputFile> create(const std::string& path);
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status write(const void* data, size_t size);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  Status overwrite(uint64_t offset, const void* data, size_t size);  // bytes that were written before
  Status commit();                                                   // flush to the disk, rename

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  Error failed(int error_number) const;
  Status open_named();
  Status name_temporary();
  void discard();
  Status flush();

  std::string path_;
  std::string temporary_;  // its name until commit(), where it has one
  std::string buffer_;
  int fd_ = -1;
  bool nameless_ = false;
  uint64_t size_bytes_ = 0;
};

// One file written at once.
Status write_file(const std::string& path, std::string_view content);

}  // namespace plica
