#include "runtime/device/cuda_status.h"

#include <string>
#include <utility>

namespace plica {
namespace {

thread_local std::string noted_error;

}  // namespace

Status cuda_status(cudaError_t status, std::string_view doing) {
  if (status == cudaSuccess) return {};
  cudaGetLastError();  // what is reported here is not reported again at the next call
  std::string text(doing);
  text.append(": ").append(cudaGetErrorString(status)).append(" (").append(cudaGetErrorName(status)).append(")");
  return Error(status == cudaErrorMemoryAllocation ? Code::kOutOfMemory : Code::kDeviceError, std::move(text));
}

void note_launch_error(std::string_view what) {
  if (noted_error.empty()) noted_error = what;
}

Status launch_status(std::string_view doing) {
  PLICA_CHECK(cuda_status(cudaGetLastError(), doing));
  if (noted_error.empty()) return {};
  return Error(Code::kDeviceError, std::string(doing).append(": ").append(std::exchange(noted_error, {})));
}

}  // namespace plica
