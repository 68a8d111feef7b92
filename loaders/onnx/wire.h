#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plica/error.h"

namespace plica::onnx {

// Where the bytes of one TensorProto.raw_data stand in the file.
struct RawBytes {
  size_t offset = 0;
  size_t length = 0;
};

// A serialised message without its bulk: what protobuf still has to parse.
struct Skeleton {
  // The message without documentation, metadata, intermediate types and training graphs; each raw_data holds the four
  // bytes of its index in `raw`.
  std::string message;
  std::vector<RawBytes> raw;
};

enum class Message { kModel, kTensor };

// Walks the wire format of `file`, a serialised message of the given type, touching no byte of any raw_data.
// kInvalidModel, naming the offset, for whatever cannot be a serialised message.
Result<Skeleton> read_skeleton(std::span<const std::byte> file, Message type);

// The RawBytes that a raw_data field of the parsed skeleton stands for. kInvalidModel for a field that holds no index.
Result<RawBytes> raw_bytes(const Skeleton& skeleton, std::string_view raw_data);

}  // namespace plica::onnx
