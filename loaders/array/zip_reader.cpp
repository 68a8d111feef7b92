#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "loaders/array/zip.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Error damaged(const std::string& path, const std::string& why) {
  return Error(Code::kInvalidInput, "the archive '" + path + "' " + why);
}

Result<std::string> bytes_at(const InputFile& file, uint64_t offset, uint64_t size) {
  if (offset > file.size_bytes() || size > file.size_bytes() - offset)
    return damaged(file.path(), "points to bytes " + std::to_string(offset) + ".." + std::to_string(offset + size) +
                                    ", but has " + std::to_string(file.size_bytes()) + "; it is truncated or damaged");
  std::string bytes(size, '\0');
  PLICA_CHECK(file.read_at(offset, bytes.data(), size));
  return bytes;
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

// The end record (22 bytes and a comment of up to 65535) is the last thing in the file.
Result<Directory> find_directory(const InputFile& file) {
  constexpr uint64_t kEndBytes = 22;
  const uint64_t tail = std::min<uint64_t>(file.size_bytes(), kEndBytes + 65535);
  const uint64_t tail_offset = file.size_bytes() - tail;
  PLICA_TRY(const std::string bytes, bytes_at(file, tail_offset, tail));
  const size_t at = bytes.rfind("PK\5\6");
  if (at == std::string::npos || at + kEndBytes > bytes.size())
    return damaged(file.path(), "has no directory at its end; it is truncated or no zip (npz) file");
  Directory found{load<uint32_t>(bytes, at + 16), load<uint32_t>(bytes, at + 12), load<uint16_t>(bytes, at + 10)};
  const uint64_t end_offset = tail_offset + at;
  if (end_offset < 20) return found;
  PLICA_TRY(const std::string locator, bytes_at(file, end_offset - 20, 20));
  if (!locator.starts_with("PK\6\7")) return found;
  PLICA_TRY(const std::string end64, bytes_at(file, load<uint64_t>(locator, 8), 56));
  if (!end64.starts_with("PK\6\6")) return damaged(file.path(), "has a damaged zip64 directory");
  return Directory{load<uint64_t>(end64, 48), load<uint64_t>(end64, 40), load<uint64_t>(end64, 32)};
}

// Sizes and offset that do not fit 32 bits stand in the zip64 field (id 1) of the extra data, in this order.
bool read_zip64(const std::string& extra, ZipMember& member) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const size_t size = load<uint16_t>(extra, at + 2);
    if (at + 4 + size > extra.size()) return false;
    size_t next = at + 4;
    const size_t end = next + size;
    if (load<uint16_t>(extra, at) == 1) {
      for (uint64_t* value : {&member.size_bytes, &member.packed_bytes, &member.offset}) {
        if (*value != 0xffffffff) continue;
        if (next + 8 > end) return false;
        *value = load<uint64_t>(extra, next);
        next += 8;
      }
      return true;
    }
    at = end;
  }
  return member.size_bytes != 0xffffffff && member.packed_bytes != 0xffffffff && member.offset != 0xffffffff;
}

// Deflate packs 1032 bytes into one at best: a larger claim is an attempt to make us allocate.
bool plausible(const ZipMember& member, uint64_t file_bytes) {
  if (member.offset > file_bytes || member.packed_bytes > file_bytes - member.offset) return false;
  return member.deflated ? member.size_bytes / 1032 <= member.packed_bytes + 1
                         : member.size_bytes == member.packed_bytes;
}

// The bytes of a member, with its checksum compared at the end.
class MemberSource : public ByteSource {
 public:
  MemberSource(std::string name, std::unique_ptr<ByteSource> content, const ZipMember& member)
      : ByteSource(std::move(name)), content_(std::move(content)), wanted_(member.crc), left_(member.size_bytes) {}

  Result<size_t> read(void* out, size_t size) override {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(size, left_));
    if (wanted == 0) {
      if (size > 0 && left_ == 0 && crc_ != wanted_)
        return Error(Code::kInvalidInput, "the checksum of '" + name() + "' is wrong; the file is damaged");
      return size_t{0};
    }
    PLICA_TRY(const size_t got, content_->read(out, wanted));
    crc_ = static_cast<uint32_t>(crc32_z(crc_, static_cast<const Bytef*>(out), got));
    left_ -= got;
    return got;
  }

 private:
  std::unique_ptr<ByteSource> content_;
  uint32_t wanted_;
  uint32_t crc_ = 0;
  uint64_t left_;
};

}  // namespace

Result<ZipReader> ZipReader::open(const std::string& path) {
  constexpr size_t kEntryBytes = 46;
  ZipReader reader;
  PLICA_TRY(reader.file_, InputFile::open(path));
  PLICA_TRY(const Directory directory, find_directory(*reader.file_));
  PLICA_TRY(const std::string bytes, bytes_at(*reader.file_, directory.offset, directory.size));
  size_t at = 0;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (at + kEntryBytes > bytes.size() || bytes.compare(at, 4, "PK\1\2") != 0)
      return damaged(path,
                     "has a damaged directory: entry " + std::to_string(i) + " of " + std::to_string(directory.count));
    const uint16_t flags = load<uint16_t>(bytes, at + 8);
    const uint16_t method = load<uint16_t>(bytes, at + 10);
    const size_t name_bytes = load<uint16_t>(bytes, at + 28);
    const size_t extra_bytes = load<uint16_t>(bytes, at + 30);
    const size_t entry_bytes = kEntryBytes + name_bytes + extra_bytes + load<uint16_t>(bytes, at + 32);
    if (at + entry_bytes > bytes.size()) return damaged(path, "has a directory that ends early");
    ZipMember member{bytes.substr(at + kEntryBytes, name_bytes),
                     method == 8,
                     load<uint32_t>(bytes, at + 16),
                     load<uint32_t>(bytes, at + 20),
                     load<uint32_t>(bytes, at + 24),
                     load<uint32_t>(bytes, at + 42)};
    const std::string place = "member '" + member.name + "'";
    if ((flags & 1) != 0) return damaged(path, "has an encrypted " + place);
    if (method != 0 && method != 8)
      return damaged(path, "has " + place + " packed by method " + std::to_string(method) +
                               "; 0 (stored) and 8 (deflate) are known");
    if (!read_zip64(bytes.substr(at + kEntryBytes + name_bytes, extra_bytes), member) ||
        !plausible(member, reader.file_->size_bytes()))
      return damaged(path, "has impossible sizes at " + place + "; it is truncated or damaged");
    reader.members_.push_back(std::move(member));
    at += entry_bytes;
  }
  return reader;
}

Result<std::unique_ptr<ByteSource>> ZipReader::read(const ZipMember& member) const {
  constexpr uint64_t kLocalBytes = 30;
  PLICA_TRY(const std::string local, bytes_at(*file_, member.offset, kLocalBytes));
  if (!local.starts_with("PK\3\4"))
    return damaged(path(), "has no header where member '" + member.name + "' should start");
  const uint64_t start = member.offset + kLocalBytes + load<uint16_t>(local, 26) + load<uint16_t>(local, 28);
  if (start > file_->size_bytes() || member.packed_bytes > file_->size_bytes() - start)
    return damaged(path(), "ends inside member '" + member.name + "'");
  auto packed = range_source(file_, start, member.packed_bytes);
  if (member.deflated) packed = inflate_source(std::move(packed), Deflate::kRaw);
  return std::unique_ptr<ByteSource>(
      std::make_unique<MemberSource>(path() + ":" + member.name, std::move(packed), member));
}

}  // namespace plica
