#include <zlib.h>

#include <algorithm>

#include "loaders/array/zip.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr uint32_t kInZip64 = 0xffffffff;  // stands in a 32-bit field whose value is in the zip64 data
constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kFirstOfJanuary1980 = 0x21;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool is_large(uint64_t value) { return value >= kInZip64; }
uint32_t low(uint64_t value) { return is_large(value) ? kInZip64 : static_cast<uint32_t>(value); }

// The fields that local header and directory entry share: version to the length of the name.
void put_common(std::string& out, const ZipMember& member, bool zip64) {
  put<uint16_t>(out, zip64 ? 45 : 20);
  put<uint16_t>(out, kUtf8Names);
  put<uint16_t>(out, member.deflated ? 8 : 0);
  put<uint16_t>(out, 0);  // midnight
  put<uint16_t>(out, kFirstOfJanuary1980);
  put<uint32_t>(out, member.crc);
  put<uint32_t>(out, zip64 ? kInZip64 : static_cast<uint32_t>(member.packed_bytes));
  put<uint32_t>(out, zip64 ? kInZip64 : static_cast<uint32_t>(member.size_bytes));
  put<uint16_t>(out, static_cast<uint16_t>(member.name.size()));
}

std::string local_header(const ZipMember& member) {
  const bool zip64 = is_large(member.packed_bytes) || is_large(member.size_bytes);
  std::string out("PK\3\4");
  put_common(out, member, zip64);
  put<uint16_t>(out, zip64 ? 20 : 0);
  out += member.name;
  if (zip64) {
    put<uint16_t>(out, 1);
    put<uint16_t>(out, 16);
    put<uint64_t>(out, member.size_bytes);
    put<uint64_t>(out, member.packed_bytes);
  }
  return out;
}

std::string directory_entry(const ZipMember& member) {
  const bool sizes = is_large(member.packed_bytes) || is_large(member.size_bytes);
  std::string extra;
  if (sizes) {
    put<uint64_t>(extra, member.size_bytes);
    put<uint64_t>(extra, member.packed_bytes);
  }
  if (is_large(member.offset)) put<uint64_t>(extra, member.offset);
  std::string out("PK\1\2");
  put<uint16_t>(out, 45);
  put_common(out, member, sizes);
  put<uint16_t>(out, static_cast<uint16_t>(extra.empty() ? 0 : extra.size() + 4));
  out.append(10, '\0');  // no comment, disk 0, no attributes
  put<uint32_t>(out, low(member.offset));
  out += member.name;
  if (!extra.empty()) {
    put<uint16_t>(out, 1);
    put<uint16_t>(out, static_cast<uint16_t>(extra.size()));
    out += extra;
  }
  return out;
}

std::string end_records(uint64_t count, uint64_t offset, uint64_t size) {
  std::string out;
  if (count >= 0xffff || is_large(offset) || is_large(size)) {
    out.append("PK\6\6");
    put<uint64_t>(out, 44);
    put<uint16_t>(out, 45);
    put<uint16_t>(out, 45);
    put<uint64_t>(out, 0);  // this disk and the directory's: 0
    for (uint64_t value : {count, count, size, offset}) put(out, value);
    out.append("PK\6\7");
    put<uint32_t>(out, 0);
    put<uint64_t>(out, offset + size);
    put<uint32_t>(out, 1);
  }
  out.append("PK\5\6");
  put<uint32_t>(out, 0);
  for (int i = 0; i < 2; ++i) put<uint16_t>(out, static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff)));
  put<uint32_t>(out, low(size));
  put<uint32_t>(out, low(offset));
  put<uint16_t>(out, 0);
  return out;
}

Result<std::string> deflate_parts(std::string_view head, std::string_view body) {
  constexpr size_t kPiece = size_t{1} << 20;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Error(Code::kOutOfMemory, "no memory to compress " + std::to_string(body.size()) + " bytes");
  std::string out;
  std::string piece(kPiece, '\0');
  for (std::string_view part : {head, body}) {
    const bool last = part.data() == body.data();
    do {
      const std::string_view in = part.substr(0, kPiece);
      part.remove_prefix(in.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
      stream.avail_in = static_cast<uInt>(in.size());
      do {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(kPiece);
        deflate(&stream, last && part.empty() ? Z_FINISH : Z_NO_FLUSH);
        out.append(piece, 0, kPiece - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (!part.empty());
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace

Result<ZipWriter> ZipWriter::create(const std::string& path, Packing packing) {
  PLICA_TRY(OutputFile file, OutputFile::create(path));
  return ZipWriter(std::move(file), packing);
}

Status ZipWriter::add(std::string_view name, std::string_view head, std::string_view body) {
  if (name.size() > 0xffff)
    return Error(Code::kInvalidInput,
                 "a name of " + std::to_string(name.size()) + " bytes does not fit a zip archive (65535 at most)");
  if (!names_.emplace(name).second)
    return Error(Code::kInvalidInput, "'" + std::string(name) + "' is already in '" + file_.path() + "'");
  ZipMember member{std::string(name), packing_ == Packing::kDeflated, 0, 0, head.size() + body.size(),
                   file_.size_bytes()};
  for (std::string_view part : {head, body})
    member.crc = static_cast<uint32_t>(crc32_z(member.crc, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  std::string packed;
  if (member.deflated) {
    PLICA_TRY(packed, deflate_parts(head, body));
    head = packed;
    body = {};
  }
  member.packed_bytes = head.size() + body.size();
  PLICA_CHECK(file_.write(local_header(member)));
  PLICA_CHECK(file_.write(head));
  PLICA_CHECK(file_.write(body));
  members_.push_back(std::move(member));
  return {};
}

Status ZipWriter::commit() {
  const uint64_t offset = file_.size_bytes();
  for (const ZipMember& member : members_) PLICA_CHECK(file_.write(directory_entry(member)));
  const uint64_t size = file_.size_bytes() - offset;
  PLICA_CHECK(file_.write(end_records(members_.size(), offset, size)));
  return file_.commit();
}

}  // namespace plica
