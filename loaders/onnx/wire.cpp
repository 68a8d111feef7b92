#include "loaders/onnx/wire.h"

#include <cstring>
#include <limits>

#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

// What a field holds, seen from the walk. The messages are those of onnx-ml.proto.
enum class Content { kPlain, kDropped, kRawData, kModel, kGraph, kNode, kAttribute, kTensor, kSparse, kFunction };

Content content_of(Content message, uint32_t field) {
  switch (message) {
    case Content::kModel:
      switch (field) {
        case 7: return Content::kGraph;
        case 25: return Content::kFunction;
        case 6:
        case 20:
        case 26: return Content::kDropped;  // doc_string, training_info, configuration
        default: return Content::kPlain;
      }
    case Content::kGraph:
      switch (field) {
        case 1: return Content::kNode;
        case 5: return Content::kTensor;
        case 15: return Content::kSparse;
        case 10:
        case 13:
        case 14:
        case 16: return Content::kDropped;  // doc_string, value_info, annotations, metadata
        default: return Content::kPlain;
      }
    case Content::kNode:
      switch (field) {
        case 5: return Content::kAttribute;
        case 6:
        case 9:
        case 10: return Content::kDropped;  // doc_string, metadata, device configurations
        default: return Content::kPlain;
      }
    case Content::kAttribute:
      switch (field) {
        case 5:
        case 10: return Content::kTensor;
        case 6:
        case 11: return Content::kGraph;
        case 22:
        case 23: return Content::kSparse;
        case 13: return Content::kDropped;  // doc_string
        default: return Content::kPlain;
      }
    case Content::kTensor:
      switch (field) {
        case 9: return Content::kRawData;
        case 12:
        case 16: return Content::kDropped;  // doc_string, metadata
        default: return Content::kPlain;
      }
    case Content::kSparse: return field == 1 || field == 2 ? Content::kTensor : Content::kPlain;
    case Content::kFunction:
      switch (field) {
        case 7: return Content::kNode;
        case 11: return Content::kAttribute;
        case 8:
        case 12:
        case 14: return Content::kDropped;  // doc_string, value_info, metadata
        default: return Content::kPlain;
      }
    default: return Content::kPlain;
  }
}

constexpr int kMaxDepth = 90;       // protobuf's parser stops at 100
constexpr size_t kLengthBytes = 5;  // room of a length that is written after the message it counts

class Walk {
 public:
  Walk(std::span<const std::byte> file, Skeleton& out) : file_(file), out_(out) {}

  Status message(Content type, size_t begin, size_t end, int depth);

 private:
  Status field(Content type, size_t end, int depth);
  Status length_delimited(Content content, size_t tag_begin, size_t length, int depth);
  Status skip(size_t bytes, size_t end, std::string_view what);
  Result<uint64_t> varint(size_t end);
  void copy(size_t begin, size_t end) { out_.message.append(chars() + begin, end - begin); }
  const char* chars() const { return reinterpret_cast<const char*>(file_.data()); }
  Error broken(size_t at, std::string_view what) const {
    std::string text("byte ");
    text.append(std::to_string(at)).append(" of the file: ").append(what);
    return Error(Code::kInvalidModel, std::move(text));
  }

  std::span<const std::byte> file_;
  Skeleton& out_;
  size_t at_ = 0;
};

Result<uint64_t> Walk::varint(size_t end) {
  const size_t begin = at_;
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end) return broken(begin, "a number runs over the end of its message");
    const auto byte = static_cast<uint64_t>(file_[at_++]);
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return broken(begin, "a number has more than 64 bits");
}

Status Walk::skip(size_t bytes, size_t end, std::string_view what) {
  if (bytes > end - at_) {
    std::string text(what);
    text.append(" of ").append(std::to_string(bytes)).append(" bytes, but ");
    text.append(end == file_.size() ? "the file" : "its message")
        .append(" ends after ")
        .append(std::to_string(end - at_));
    return broken(at_, text);
  }
  at_ += bytes;
  return {};
}

Status Walk::message(Content type, size_t begin, size_t end, int depth) {
  if (depth > kMaxDepth) return broken(begin, "messages nest deeper than " + std::to_string(kMaxDepth));
  for (at_ = begin; at_ < end;) PLICA_CHECK(field(type, end, depth));
  return {};
}

Status Walk::field(Content type, size_t end, int depth) {
  const size_t begin = at_;
  PLICA_TRY(const uint64_t tag, varint(end));
  if (tag >> 3 == 0 || tag > std::numeric_limits<uint32_t>::max())
    return broken(begin, "no field can have this number");
  const Content content = content_of(type, static_cast<uint32_t>(tag >> 3));
  switch (tag & 7) {
    case 0: PLICA_CHECK(varint(end)); break;
    case 1: PLICA_CHECK(skip(8, end, "a number")); break;
    case 5: PLICA_CHECK(skip(4, end, "a number")); break;
    case 2: {
      const size_t tag_end = at_;
      PLICA_TRY(const uint64_t length, varint(end));
      const size_t data = at_;
      PLICA_CHECK(skip(length, end, "a field"));
      if (content == Content::kDropped) return {};
      if (content == Content::kPlain) break;
      copy(begin, tag_end);
      return length_delimited(content, data, length, depth);
    }
    default: return broken(begin, "wire type " + std::to_string(tag & 7) + ", wanted 0, 1, 2 or 5");
  }
  copy(begin, at_);
  return {};
}

Status Walk::length_delimited(Content content, size_t data, size_t length, int depth) {
  std::string& out = out_.message;
  if (content == Content::kRawData) {
    const auto index = static_cast<uint32_t>(out_.raw.size());
    out.push_back(sizeof index);
    out.append(reinterpret_cast<const char*>(&index), sizeof index);
    out_.raw.push_back({data, length});
    return {};
  }
  const size_t length_at = out.size();
  out.append(kLengthBytes, '\0');
  PLICA_CHECK(message(content, data, data + length, depth + 1));
  size_t size = out.size() - length_at - kLengthBytes;
  if (size > std::numeric_limits<int32_t>::max())
    return broken(data,
                  "a message of " + std::to_string(size) + " bytes besides raw data, at most 2147483647 can be read");
  for (size_t i = 0; i < kLengthBytes; ++i, size >>= 7)
    out[length_at + i] = static_cast<char>((size & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
  return {};
}

}  // namespace

Result<Skeleton> read_skeleton(std::span<const std::byte> file, Message type) {
  Skeleton skeleton;
  Walk walk(file, skeleton);
  PLICA_CHECK(walk.message(type == Message::kModel ? Content::kModel : Content::kTensor, 0, file.size(), 0));
  if (skeleton.message.size() > std::numeric_limits<int32_t>::max())
    return Error(Code::kInvalidModel, "the file holds " + std::to_string(skeleton.message.size()) +
                                          " bytes besides raw data, at most 2147483647 can be read");
  return skeleton;
}

Result<RawBytes> raw_bytes(const Skeleton& skeleton, std::string_view raw_data) {
  uint32_t index = 0;
  if (raw_data.size() == sizeof index) {
    std::memcpy(&index, raw_data.data(), sizeof index);
    if (index < skeleton.raw.size()) return skeleton.raw[index];
  }
  return Error(Code::kInvalidModel, "raw data that the walk over the file did not see");
}

}  // namespace plica::onnx
