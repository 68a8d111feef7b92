#include "runtime/device/cuda_blas.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "runtime/device/cuda_device.h"

namespace plica {
namespace {

// The loader's own places first, then the toolkit that this was built with.
void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  return dlopen((PLICA_CUDA_LIBRARY_DIR "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

template <class Function>
Status find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return {};
  return Error(Code::kDeviceError, std::string("cuBLASLt has no ").append(name));
}

Result<CublasLt> load() {
  void* library = open_library();
  if (library == nullptr) {
    const char* why = dlerror();
    return Error(Code::kDeviceError, std::string("loading cuBLASLt: ").append(why != nullptr ? why : "no reason"));
  }
  CublasLt lt;
  PLICA_CHECK(find(library, "cublasLtGetStatusString", lt.status_string));
  PLICA_CHECK(find(library, "cublasLtCreate", lt.create));
  PLICA_CHECK(find(library, "cublasLtMatmul", lt.matmul));
  PLICA_CHECK(find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic));
  PLICA_CHECK(find(library, "cublasLtMatmulDescCreate", lt.desc_create));
  PLICA_CHECK(find(library, "cublasLtMatmulDescDestroy", lt.desc_destroy));
  PLICA_CHECK(find(library, "cublasLtMatmulDescSetAttribute", lt.desc_set));
  PLICA_CHECK(find(library, "cublasLtMatrixLayoutCreate", lt.layout_create));
  PLICA_CHECK(find(library, "cublasLtMatrixLayoutDestroy", lt.layout_destroy));
  PLICA_CHECK(find(library, "cublasLtMatrixLayoutSetAttribute", lt.layout_set));
  PLICA_CHECK(find(library, "cublasLtMatmulAlgoConfigGetAttribute", lt.algo_config));
  PLICA_CHECK(find(library, "cublasLtMatmulPreferenceCreate", lt.preference_create));
  PLICA_CHECK(find(library, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy));
  PLICA_CHECK(find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set));
  return lt;
}

}  // namespace

Status CublasLt::status(cublasStatus_t status, std::string_view doing) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error(status == CUBLAS_STATUS_ALLOC_FAILED ? Code::kOutOfMemory : Code::kDeviceError,
               std::string(doing).append(": ").append(status_string(status)));
}

Result<const CublasLt*> cublas_lt(int ordinal) {
  static std::mutex mutex;
  static std::map<int, CublasLt> by_device;
  const std::lock_guard lock(mutex);
  if (const auto found = by_device.find(ordinal); found != by_device.end()) return &found->second;
  static const Result<CublasLt> library = load();
  if (!library) return library.error();
  CublasLt lt = *library;
  const CudaDeviceScope scope(ordinal);
  PLICA_CHECK(lt.status(lt.create(&lt.handle), "creating a cuBLASLt handle"));
  return &by_device.emplace(ordinal, lt).first->second;
}

}  // namespace plica
