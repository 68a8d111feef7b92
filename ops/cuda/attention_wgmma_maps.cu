#include <algorithm>
#include <cassert>

#include "ops/cuda/attention_wgmma_maps.cuh"

namespace plica::cuda::attention {
namespace {

constexpr int64_t kElementBytes = 2;

// One operand of (rows, columns) below the leading axes, in boxes of (box_rows, box_columns).
struct Boxed {
  Operand operand;
  const void* data;
  int64_t rows, columns;
  int box_rows, box_columns;
};

void encode_map(CUtensorMap& map, const WgmmaMaps& maps, const Shape& shape, const Boxed& of, bool is_bf16,
                EncodeMap encode) {
  const auto present = [](int64_t size) { return static_cast<cuuint64_t>(std::max<int64_t>(size, 1)); };
  const auto bytes = [](int64_t elements) { return static_cast<cuuint64_t>(elements * kElementBytes); };
  cuuint64_t size[2 + kMapAxes] = {present(of.columns), present(of.rows), 1, 1, 1};
  cuuint64_t stride[1 + kMapAxes] = {16, 16, 16, 16};
  if (of.rows > 1) stride[0] = bytes(shape.row[of.operand]);
  for (int axis = 0; axis < shape.heads.rank; ++axis) {
    if ((maps.moves[of.operand] >> axis & 1) == 0) continue;
    size[2 + axis] = present(shape.heads.size[axis]);
    stride[1 + axis] = bytes(shape.heads.stride[of.operand][axis]);
  }
  const cuuint32_t box[2 + kMapAxes] = {static_cast<cuuint32_t>(of.box_columns), static_cast<cuuint32_t>(of.box_rows),
                                        1, 1, 1};
  constexpr cuuint32_t kStep[2 + kMapAxes] = {1, 1, 1, 1, 1};
  [[maybe_unused]] const CUresult result =
      encode(&map, is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2 + kMapAxes,
             const_cast<void*>(of.data), size, stride, box, kStep, CU_TENSOR_MAP_INTERLEAVE_NONE,
             of.box_columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  assert(result == CUDA_SUCCESS);
}

// Takes `heads` neighbours along an axis as one; columns of q, k, v and the gate then run over all heads of the axis.
void join_heads(Shape& shape, WgmmaMaps& maps, int axis, int heads) {
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.heads.rank; ++i) inner *= shape.heads.size[i];
  if (inner < shape.sharing) shape.sharing /= heads;
  shape.heads.size[axis] /= heads;
  for (int i = 0; i < kNumOperands; ++i) {
    maps.next_head[i] = shape.heads.stride[i][axis];
    shape.heads.stride[i][axis] *= heads;
  }
  for (const Operand i : {kQ, kK, kV, kGate}) maps.moves[i] &= ~(1u << axis);
  maps.head_axis = axis;
  shape.heads.finish();
}

}  // namespace

int pair_axis(const Shape& shape, int64_t width, bool gated) {
  if (shape.width != width || shape.value_width != width) return -1;
  for (int axis = 0; axis < shape.heads.rank; ++axis) {
    const auto is_near = [&](Operand operand) { return shape.heads.stride[operand][axis] == width; };
    const bool shares_mask = shape.heads.stride[kMask][axis] == 0;  // a pair reads it once
    if (shape.heads.size[axis] % 2 == 0 && is_near(kQ) && is_near(kK) && is_near(kV) && (!gated || is_near(kGate)) &&
        shares_mask)
      return axis;
  }
  return -1;
}

WgmmaMaps make_maps(Shape& shape, const Pointers& p, const WgmmaBoxes& boxes, EncodeMap encode) {
  WgmmaMaps maps{};
  maps.head_axis = -1;
  for (int i = 0; i < kNumOperands; ++i)
    for (int axis = 0; axis < shape.heads.rank; ++axis)
      if (shape.heads.stride[i][axis] != 0) maps.moves[i] |= 1u << axis;
  int64_t columns = shape.width, value_columns = shape.value_width;
  if (boxes.heads > 1) {
    const int axis = pair_axis(shape, boxes.width, p.gate != nullptr);
    columns = value_columns = shape.heads.size[axis] * boxes.width;
    join_heads(shape, maps, axis, boxes.heads);
  }
  const auto encode_as = [&](CUtensorMap& map, const Boxed& of) {
    encode_map(map, maps, shape, of, boxes.is_bf16, encode);
  };
  encode_as(maps.q, {kQ, p.q, shape.rows, columns, boxes.query_rows, boxes.columns});
  encode_as(maps.k, {kK, p.k, shape.keys, columns, boxes.keys, boxes.columns});
  encode_as(maps.v, {kV, p.v, shape.keys, value_columns, boxes.keys, boxes.columns});
  if (p.gate != nullptr)
    encode_as(maps.gate, {kGate, p.gate, shape.rows, value_columns, boxes.query_rows, boxes.columns});
  if (boxes.has_bias && p.bias != nullptr)
    encode_as(maps.bias, {kBias, p.bias, shape.rows, shape.keys, boxes.query_rows, boxes.bias_columns});
  return maps;
}

}  // namespace plica::cuda::attention
