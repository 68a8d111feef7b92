#include "ops/cuda/tensor_tile.cuh"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {

CUtensorMap map_boxes(const MatrixInMemory& matrix, int box_rows) {
  CUtensorMap map{};
  const auto driver = cuda_driver();
  if (!driver) return note_launch_error("no driver with tensor copies"), map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t steps[] = {static_cast<cuuint64_t>(matrix.row_step) * 2};  // in bytes
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows)}, every[] = {1, 1};
  const CUresult result = (*driver)->encode_tiled(
      &map, matrix.dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      const_cast<void*>(matrix.data), sizes, steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) note_launch_error("describing a matrix for tensor copies");
  return map;
}

}  // namespace plica::cuda
