#pragma once

#include <cstdint>
#include <span>

#include "ops/op.h"
#include "runtime/exec/draft.h"

namespace plica {

// Of element (0, ..., 0), as far as it is known before memory is planned; buffers start at multiples of 64, constants on a
// device with a queue too.
int64_t known_alignment(const Place& place, std::span<const Buffer> buffers, bool on_host);

// Of memory that the caller may bring; where work is queued, what lies askew is copied.
int64_t bound_alignment(const TensorType& type, bool on_host);

// The place as a kernel may decide on it; it points to the place's type.
Operand operand_at(const Place& place, std::span<const Buffer> buffers, bool on_host);

}  // namespace plica
