#include "runtime/exec/alignment.h"

namespace plica {
namespace {

int64_t alignment_of(intptr_t address) {
  const intptr_t bits = address | static_cast<intptr_t>(kMemoryAlignment);
  return bits & -bits;
}

}  // namespace

int64_t known_alignment(const Place& place, std::span<const Buffer> buffers, bool on_host) {
  if (place.kind == Place::Kind::kConstant) {
    const auto address = reinterpret_cast<intptr_t>(place.constant->data);
    if (on_host) return alignment_of(address);
    return alignment_of(place.base != nullptr ? address - reinterpret_cast<intptr_t>(place.base->data) : 0);
  }
  const Buffer& buffer = buffers[static_cast<size_t>(place.index)];
  const bool is_bound = buffer.kind != Place::Kind::kArena || buffer.is_result;
  return on_host && is_bound ? bound_alignment(place.type, on_host) : alignment_of(place.offset_bytes);
}

int64_t bound_alignment(const TensorType& type, bool on_host) {
  return on_host ? static_cast<int64_t>(size_of(type.dtype)) : static_cast<int64_t>(kMemoryAlignment);
}

Operand operand_at(const Place& place, std::span<const Buffer> buffers, bool on_host) {
  if (place.kind == Place::Kind::kAbsent) return {};
  return {&place.type, place.constant, known_alignment(place, buffers, on_host)};
}

}  // namespace plica
