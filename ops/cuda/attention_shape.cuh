#pragma once

#include <cfloat>
#include <cmath>

#include "ops/attention.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"

namespace plica::cuda::attention {

enum Operand : int { kQ, kK, kV, kBias, kMask, kGate, kY, kNumOperands };
constexpr size_t kSegments = 6;  // among a step's inputs

enum class MaskKind : int { kNone, kBool, kAdded };

// Attention over (heads, L, M, D, E). A head is one index of all leading axes; those axes along which neither bias nor a mask of rows
// and keys changes come last in the order of `heads`, so that `sharing` neighbouring heads have the same terms.
struct Shape {
  Layout<kNumOperands> heads;
  int64_t sharing = 1;
  int64_t rows = 0, keys = 0, width = 0, value_width = 0;  // L, M, D, E
  int64_t row[kNumOperands] = {};                          // elements from one row (of k and v: key) to the next
  int64_t step[kNumOperands] = {};                         // elements along the last axis
  float scale = 1, fill = 0;
  double wide_scale = 1, wide_fill = 0;  // for f64
  ops::ZeroRows zero_rows = ops::ZeroRows::kNone;
  bool causal = false;
  MaskKind mask = MaskKind::kNone;
  bool mask_is_bias = false;  // a mask that is added and has rows, where there is no bias, takes its place
  int64_t num_segments = 0, segment_step = 1;
};

struct Pointers {
  const void *q, *k, *v, *bias, *mask, *gate;
  void* y;
  const int64_t* segments;  // (num_segments + 1), or null
  Fault* fault;
  const char* segment_fault;  // what a fault says, text of the host
};

Shape shape_of(const ops::Attention& op, const KernelArgs& args);
Shape shape_of(const Case& c);  // without the operator's attributes
Pointers pointers_of(const Shape& shape, const KernelArgs& args);

// Whether rows of an operand, `length` elements of `size` bytes long, can be read 16 bytes at once.
bool reads_vectors(const Shape& shape, Operand operand, const void* data, int64_t length, size_t size);

int num_multiprocessors();  // of the current device

// Whether blocks of `queries` queries of `heads` neighbouring heads that share their terms are still twice as many as multiprocessors.
bool fills_device(const Shape& shape, int queries, int heads);

struct Range {
  int64_t begin, end;
};

// Whether the offsets are what they should be; the threads of a block share the work.
__device__ inline void check_segments(const Shape& shape, const Pointers& p) {
  for (int64_t g = threadIdx.x; g < shape.num_segments; g += blockDim.x) {
    const int64_t begin = p.segments[g * shape.segment_step], end = p.segments[(g + 1) * shape.segment_step];
    if (begin < 0 || end < begin || end > shape.keys) report(p.fault, p.segment_fault, end, shape.keys);
  }
}

// The keys that row l may see: those of its own segment, up to itself where causal.
__device__ inline Range visible(const Shape& shape, const Pointers& p, int64_t l) {
  Range range{0, shape.keys};
  if (p.segments != nullptr) {
    int64_t low = 0, high = shape.num_segments;  // the last segment that begins at l or before is in [low, high)
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (p.segments[middle * shape.segment_step] <= l ? low : high) = middle;
    }
    range = {0, 0};
    if (shape.num_segments > 0) {
      const int64_t begin = p.segments[low * shape.segment_step], end = p.segments[(low + 1) * shape.segment_step];
      if (begin >= 0 && begin <= l && l < end && end <= shape.keys) range = {begin, end};
    }
  }
  if (shape.causal && range.end > l + 1) range.end = l + 1;
  return range;
}

}  // namespace plica::cuda::attention
