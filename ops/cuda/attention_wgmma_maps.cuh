#pragma once

#include <cuda.h>

#include "ops/cuda/attention_shape.cuh"

// Where the kernel `wgmma` finds its operands: maps, from which it copies boxes of rows and columns.
namespace plica::cuda::attention {

constexpr int kMapAxes = 3;  // leading axes of a map, which is (axes..., rows, columns)

using EncodeMap = decltype(&::cuTensorMapEncodeTiled);

struct WgmmaMaps {
  CUtensorMap q, k, v, bias, gate;
  unsigned moves[kNumOperands] = {};  // bit i: along leading axis i the operand's box moves
  int head_axis = -1;  // along which the heads of an item are neighbours: columns of q, k, v and the gate
  int64_t next_head[kNumOperands] = {};  // elements from one head of an item to the next
};

// What an instantiation copies: boxes of `columns` columns, bias_columns of the bias, the query_rows or keys of a tile.
struct WgmmaBoxes {
  bool is_bf16, has_bias;
  int heads, width, columns, bias_columns, query_rows, keys;
};

// The leading axis along which pairs of heads of this width stand side by side in q, k, v and the gate, or -1.
int pair_axis(const Shape& shape, int64_t width, bool gated);

// Maps of a shape that the kernel takes. Where an item has several heads, those are taken as one in the shape.
WgmmaMaps make_maps(Shape& shape, const Pointers& p, const WgmmaBoxes& boxes, EncodeMap encode);

// What a launch needs beside the shape.
struct WgmmaRun {
  cudaStream_t stream;
  EncodeMap encode;
};

}  // namespace plica::cuda::attention
