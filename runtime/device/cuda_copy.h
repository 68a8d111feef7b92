#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace plica {

// Queues a copy by a kernel, between memory that kernels of the current device reach: inside a graph of kernels it costs less than
// a copy engine, for a few KiB. Launch errors are the runtime's last error.
void copy_by_kernel(void* to, const void* from, size_t bytes, cudaStream_t stream);

// What a kernel node that does the work of a memset node launches: `width` elements of 1, 2 or 4 bytes become `value`.
struct FillKernel {
  const void* function = nullptr;
  unsigned block = 0;
  struct Arguments {
    void* to = nullptr;
    unsigned value = 0, element_bytes = 0;
    size_t width = 0;
  };
};
FillKernel fill_kernel();  // its one parameter is FillKernel::Arguments, of which a thread fills one element

}  // namespace plica
