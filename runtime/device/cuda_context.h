#pragma once

#include "runtime/device/device_context.h"

namespace plica {

// A GPU by its name, "cuda" or "cuda:N". The traits' threads are those of the host that prepare weights.
Result<std::shared_ptr<DeviceContext>> open_cuda_device(const std::string& name, int num_threads);

}  // namespace plica
