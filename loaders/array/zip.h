#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "loaders/file/byte_source.h"
#include "loaders/file/output_file.h"

namespace plica {

// Zip archives as NumPy writes them: members stored or deflated, zip64 where sizes need it.
// Source: PKWARE APPNOTE 6.3.

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t offset = 0;  // of the local header
};

class ZipReader {
 public:
  // kInvalidInput for what is no zip archive, is truncated, or has members outside the file, encrypted, or packed
  // otherwise.
  static Result<ZipReader> open(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<ZipMember>& members() const { return members_; }

  // The member's bytes. Reading past its end checks the checksum: read to the end, then once more.
  Result<std::unique_ptr<ByteSource>> read(const ZipMember& member) const;

 private:
  std::shared_ptr<InputFile> file_;
  std::vector<ZipMember> members_;
};

enum class Packing { kStored, kDeflated };

// Writes members one after the other; the archive appears under its name at commit().
class ZipWriter {
 public:
  static Result<ZipWriter> create(const std::string& path, Packing packing = Packing::kStored);

  // A member whose content is `head` followed by `body`.
  Status add(std::string_view name, std::string_view head, std::string_view body);
  Status commit();

 private:
  ZipWriter(OutputFile file, Packing packing) : file_(std::move(file)), packing_(packing) {}

  OutputFile file_;
  Packing packing_;
  std::vector<ZipMember> members_;
  std::unordered_set<std::string> names_;
};

}  // namespace plica
