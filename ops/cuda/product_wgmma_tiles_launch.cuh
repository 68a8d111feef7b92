#pragma once

#include <algorithm>

#include "ops/cuda/product_block.cuh"
#include "ops/cuda/product_wgmma_tiles.cuh"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {

enum class TileForm { kAtOnce, kWide, kTurns };

struct TiledState {
  BlockProduct product;
  TileForm form = TileForm::kAtOnce;

  bool may_turn() const { return form == TileForm::kAtOnce; }  // its tiles hold whole heads
};

// All of a product in tiles but its operands' addresses, with any activation; or why a case is none, or does not pay.
const char* make_tiled_product(const ops::MatMul& op, const Case& c, TiledState& state);

template <class T, bool kNormed>
using AtOnceTile = ProductTile<T, 128, false, 6, kNormed>;
template <class T, bool kNormed>
using WideTile = ProductTile<T, 160, false, 5, kNormed>;
template <class T>
using TurnsTile = ProductTile<T, 128, true, 6>;

constexpr int64_t kMultiprocessors = 132;

template <class C>
int64_t tiles_for(const BlockProduct& p) {
  return ceil_div(p.m, C::kRows) * ceil_div(p.n, C::kColumns);
}

// y, in boxes of 16 rows that a warp stores.
template <class C>
CUtensorMap map_result(const BlockProduct& p, int64_t row_step) {
  CUtensorMap map{};
  const auto driver = cuda_driver();
  if (!driver) return note_launch_error("no driver with tensor copies"), map;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(p.n), static_cast<cuuint64_t>(p.m)};
  const cuuint64_t steps[] = {static_cast<cuuint64_t>(row_step) * 2};
  const cuuint32_t box[] = {C::kOutColumns, 16}, every[] = {1, 1};
  const CUresult result = (*driver)->encode_tiled(
      &map, std::is_same_v<typename C::T, F16> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
      p.y, sizes, steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
      C::kOutColumns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) note_launch_error("describing a product's result for tensor copies");
  return map;
}

// `tiled` has what goes beyond a product with an activation.
template <class C>
void launch_tile(const BlockProduct& p, TiledProduct tiled, cudaStream_t stream) {
  constexpr DType kDType = std::is_same_v<typename C::T, F16> ? DType::kF16 : DType::kBF16;
  const int64_t a_step = std::max(p.rows.stride[0][0], int64_t{p.k});
  const int64_t y_step = std::max(p.rows.stride[1][0], int64_t{p.n});
  tiled.a = map_boxes({p.a, kDType, p.m, p.k, a_step}, C::kRows);
  tiled.b = map_boxes({p.b, kDType, p.k, p.n, std::max(p.b_row, int64_t{p.n})}, C::kDepth);
  tiled.y = map_result<C>(p, y_step);
  tiled.bias = p.bias;
  tiled.m = p.m, tiled.n = p.n, tiled.k = p.k;
  tiled.activation = p.activation;
  tiled.constant_b = p.constant_b;
  tiled.tile_rows = static_cast<int>(ceil_div(p.m, C::kRows));
  tiled.tiles = static_cast<int>(tiles_for<C>(p));
  if constexpr (C::kNormed) {
    tiled.moments.rows = p.a;
    tiled.moments.row_step = a_step;
    tiled.moments.m = p.m, tiled.moments.k = p.k;
  }
  const auto blocks = static_cast<unsigned>(std::min(tiled.tiles, static_cast<int>(kMultiprocessors)));
  cudaFuncSetAttribute(product_wgmma_tiles<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
  launch_early({dim3(blocks), C::kThreads, C::kSharedBytes, stream}, product_wgmma_tiles<C>, tiled);
}

}  // namespace plica::cuda
