#pragma once

#include <cstdint>

namespace plica {

// How often any code of this process, libraries included, asked for memory: malloc and its relatives are this program's own.
int64_t num_allocations();

// False where a sanitizer has taken over malloc, so that nothing is counted.
bool counts_allocations();

}  // namespace plica
