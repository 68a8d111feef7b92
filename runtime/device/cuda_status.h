#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "runtime/core/result.h"

namespace plica {

// kOutOfMemory for a failed allocation, kDeviceError for all else: "<doing>: <the runtime's text> (<its name>)".
Status cuda_status(cudaError_t status, std::string_view doing);

// A library call that failed inside a kernel's `run`, which has no result: kept for this thread until asked for.
void note_launch_error(std::string_view what);

// What went wrong in this thread's launches since the last call, a noted error or the runtime's own; asked for after each
// step.
Status launch_status(std::string_view doing);

}  // namespace plica
