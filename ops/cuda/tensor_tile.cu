#include "ops/cuda/tensor_strip.cuh"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {

CUtensorMap map_boxes(const MatrixInMemory& matrix, int box_rows) { return map_strips(matrix, box_rows, 64); }

CUtensorMap map_strips(const MatrixInMemory& matrix, int box_rows, int box_columns) {
  CUtensorMap map{};
  const auto driver = cuda_driver();
  if (!driver) return note_launch_error("no driver with tensor copies"), map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t steps[] = {static_cast<cuuint64_t>(matrix.row_step) * 2};  // in bytes
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns), static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t every[] = {1, 1};
  const CUtensorMapSwizzle swizzle = box_columns == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : box_columns == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                         : CU_TENSOR_MAP_SWIZZLE_32B;
  const CUresult result = (*driver)->encode_tiled(
      &map, matrix.dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      const_cast<void*>(matrix.data), sizes, steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) note_launch_error("describing a matrix for tensor copies");
  return map;
}

}  // namespace plica::cuda
