#pragma once

#include "runtime/device/device_context.h"

namespace plica {

// A queue on a GPU: a stream, an arena, graphs.
Result<std::unique_ptr<DeviceQueue>> make_cuda_queue(int ordinal);

}  // namespace plica
