#pragma once

namespace plica {

// Processors that this process may use at once: its affinity mask, and the CPU quota of its control groups (rounded up). At least 1.
int num_processors();

}  // namespace plica
