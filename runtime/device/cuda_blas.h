#pragma once

#include <cublasLt.h>

#include <string_view>

#include "runtime/core/result.h"

namespace plica {

// cuBLASLt, loaded at the first product that needs it: programs start without it. The handle belongs to one device and
// is shared by all threads (cuBLASLt's functions are thread-safe); it lives as long as the process.
struct CublasLt {
  decltype(&::cublasLtGetStatusString) status_string = nullptr;
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&::cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) algo_config = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  cublasLtHandle_t handle = nullptr;

  Status status(cublasStatus_t status, std::string_view doing) const;
};

Result<const CublasLt*> cublas_lt(int ordinal);

}  // namespace plica
