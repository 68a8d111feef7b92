#include "ops/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu/gemm.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/cpu/gemm_tile-inl.h"
#include "ops/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {

using V = hn::Vec<FloatTag>;

// Rows of c that one thread makes at a time: their part of a, packed, stays in the second-level cache.
constexpr int64_t kBlockBytes = 1 << 20;
constexpr int64_t kSmallBytes = 512 << 10;  // of b
constexpr int64_t kMaxDepth = 1024;  // steps of k at a time: blocks stay tall, so that b is read again less often
constexpr int64_t kLeastTiles = 6;   // of a block that is made smaller than it could be
constexpr int64_t kMaxSteps = 384;   // of one pass over k: its part of a panel of b stays in the first-level cache
constexpr int64_t kPackSlack = 16;   // floats that packing may write beyond its end

struct Split {
  int64_t block_rows, num_blocks;
  int64_t panels, num_ranges;  // column panels of one range, ranges
};

// Steps of k that are taken at a time, about even.
int64_t depth_of(int64_t k) {
  const int64_t parts = std::max<int64_t>((k + kMaxDepth - 1) / kMaxDepth, 1);
  return (k + parts - 1) / parts;
}

struct PanelRange {
  int64_t first, last;
};

// Rows are divided first, since each range of columns packs its block of rows again.
Split split_work(int64_t m, int64_t n, int64_t k, int num_threads) {
  const int64_t limit = kBlockBytes / (4 * std::max<int64_t>(depth_of(k), 1)) / kTileRows * kTileRows;
  const int64_t threads = std::min<int64_t>(num_threads, std::max<int64_t>(m / (2 * kTileRows), 1));
  int64_t blocks = (m + limit - 1) / limit;
  blocks = std::max<int64_t>((blocks + threads - 1) / threads * threads, 1);
  // Where b stays cached, smaller blocks let the threads that come first do more.
  if (threads > 1 && 4 * n * k <= kSmallBytes)
    blocks = std::max(blocks, std::min(4 * threads, m / (kLeastTiles * kTileRows)));
  const int64_t rows = std::max<int64_t>((m + blocks - 1) / blocks, 1);
  const int64_t all_panels = (n + kTileCols - 1) / kTileCols;
  blocks = (m + rows - 1) / rows;
  const int64_t ranges =
      std::clamp<int64_t>(num_threads / std::max<int64_t>(blocks, 1), 1, std::max<int64_t>(all_panels, 1));
  const int64_t panels = (all_panels + ranges - 1) / ranges;
  return {rows, blocks, panels, panels ? (all_panels + panels - 1) / panels : 0};
}

int64_t thread_scratch_floats(const Split& split, int64_t k) {
  const int64_t packed = std::max(split.block_rows * depth_of(k), k);
  return (split.block_rows * 2 * kTileCols + packed + kPackSlack + 15) / 16 * 16;
}

size_t scratch_bytes_of(int64_t m, int64_t n, int64_t k, int num_threads) {
  const Split split = split_work(m, n, k, num_threads);
  return static_cast<size_t>(thread_scratch_floats(split, k)) * sizeof(float) * std::max(num_threads, 1);
}

int panel_width(int64_t cols) { return cols > kLanes ? kTileCols : kLanes; }

size_t packed_bytes_of(int64_t n, int64_t k) {
  const int64_t full = n / kTileCols, rest = n % kTileCols;
  return static_cast<size_t>((full * kTileCols + (rest ? panel_width(rest) : 0)) * k) * sizeof(float);
}

void pack_panel(MatrixRef b, int64_t cols, int64_t k, float* HWY_RESTRICT packed) {
  const int width = panel_width(cols);
  for (int64_t step = 0; step < k; ++step, packed += width) {
    const float* row = b.data + step * b.row_stride;
    if (b.col_stride == 1) {
      std::memcpy(packed, row, static_cast<size_t>(cols) * sizeof(float));
    } else {
      for (int64_t j = 0; j < cols; ++j) packed[j] = row[j * b.col_stride];
    }
    std::fill(packed + cols, packed + width, 0.0f);
  }
}

// Columns of b that are rows in memory (a transposed weight) are packed like rows of a.
void pack_panels(MatrixRef b, int64_t n, int64_t k, float* packed, int num_threads) {
  const int64_t panels = (n + kTileCols - 1) / kTileCols;
  parallel_for(panels, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(k * kTileCols, 1)), num_threads,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t p = begin; p < end; ++p) {
                   const int64_t cols = std::min<int64_t>(kTileCols, n - p * kTileCols);
                   const MatrixRef from{b.data + p * kTileCols * b.col_stride, b.row_stride, b.col_stride};
                   float* to = packed + p * kTileCols * k;
                   if (b.row_stride == 1 && cols == kTileCols && HWY_TARGET != HWY_SCALAR) {
                     pack_adjacent_steps(from.data, from.col_stride, kTileCols, k, to);
                   } else {
                     pack_panel(from, cols, k, to);
                   }
                 }
               });
}

// packed[step * rows + i] = a(i, step)
void pack_rows(MatrixRef a, int rows, int64_t k, float* HWY_RESTRICT packed) {
  if (a.col_stride == 1) return pack_adjacent_steps(a.data, a.row_stride, rows, k, packed);
  for (int64_t step = 0; step < k; ++step, packed += rows)
    for (int i = 0; i < rows; ++i) packed[i] = a.data[i * a.row_stride + step * a.col_stride];
}

template <Activation kActivation>
HWY_INLINE V activate(V v) {
  const FloatTag d;
  if constexpr (kActivation == Activation::kRelu) return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
  if constexpr (kActivation == Activation::kGelu) return gelu(d, v);
  if constexpr (kActivation == Activation::kGeluTanh) return gelu_tanh(d, v);
  if constexpr (kActivation == Activation::kSilu) return silu(d, v);
  if constexpr (kActivation == Activation::kSigmoid) return sigmoid(d, v);
  if constexpr (kActivation == Activation::kTanh) return tanh(d, v);
  return v;
}

// `count` values at `stride`, the other lanes zero. Reads nothing else.
HWY_INLINE V load_strided(const float* from, int64_t stride, int64_t count) {
  const FloatTag d;
  if (stride == 1)
    return count >= kLanes ? hn::LoadU(d, from) : hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
  if (stride == 0) return hn::Set(d, *from);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < std::min<int64_t>(count, kLanes); ++i) lanes[i] = from[i * stride];
  return hn::Load(d, lanes);
}

struct Corner {
  int64_t row, col;
};

// Takes `rows` x `cols` sums, which include the bias where alpha is 1, to c.
template <Activation kActivation>
void finish_tile_as(const Gemm& g, const float* tile, Corner at, int64_t rows, int64_t cols) {
  const FloatTag d;
  const Epilogue& e = g.epilogue;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = at.row + i;
    for (int64_t j = 0; j < cols; j += kLanes) {
      const int64_t col = at.col + j, count = cols - j;
      V v = hn::Mul(hn::Load(d, tile + i * kTileCols + j), hn::Set(d, e.alpha));
      if (e.bias && e.alpha != 1) v = hn::Add(v, load_strided(e.bias + col, 1, count));
      v = activate<kActivation>(v);
      if (e.gate.data) {
        const MatrixRef& gate = e.gate;
        V w = load_strided(gate.at(row, col), gate.col_stride, count);
        if (e.gate_sigmoid) w = sigmoid(d, w);
        v = hn::Mul(v, w);
      }
      if (e.residual.data) {
        const MatrixRef& r = e.residual;
        v = hn::Add(v, load_strided(r.at(row, col), r.col_stride, count));
      }
      float* to = g.c + row * g.c_stride + col;
      if (count >= kLanes) {
        hn::StoreU(v, d, to);
      } else {
        hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
      }
    }
  }
}

void finish_tile(const Gemm& g, const float* tile, Corner at, int64_t rows, int64_t cols) {
  using enum Activation;
  switch (g.epilogue.activation) {
    case kNone: return finish_tile_as<kNone>(g, tile, at, rows, cols);
    case kRelu: return finish_tile_as<kRelu>(g, tile, at, rows, cols);
    case kGelu: return finish_tile_as<kGelu>(g, tile, at, rows, cols);
    case kGeluTanh: return finish_tile_as<kGeluTanh>(g, tile, at, rows, cols);
    case kSilu: return finish_tile_as<kSilu>(g, tile, at, rows, cols);
    case kSigmoid: return finish_tile_as<kSigmoid>(g, tile, at, rows, cols);
    case kTanh: return finish_tile_as<kTanh>(g, tile, at, rows, cols);
  }
}

// Whether tiles can begin with bias and residual, so that their sums are the result.
bool sums_are_final(const Epilogue& e) {
  const bool direct = !e.residual.data || e.residual.col_stride == 1;
  return e.alpha == 1 && e.activation == Activation::kNone && !e.gate.data && direct;
}

// With few columns to make, packing a costs more than it gains.
bool reads_in_place(const Gemm& g) { return g.a.col_stride == 1 && g.n <= 512; }

// Rows of one block, divided evenly into tiles of at most `tallest`.
struct Tiling {
  int64_t rows, num_tiles;
  Tiling(int64_t num_rows, int64_t tallest) : rows(num_rows), num_tiles((num_rows + tallest - 1) / tallest) {}
  int64_t height(int64_t tile) const { return rows / num_tiles + (tile < rows % num_tiles); }
};

// Rows of c that one thread makes, for some steps of k at a time.
struct Block {
  const Gemm& g;
  Tiling tiling;
  int64_t row;          // first one
  int64_t first, last;  // of k
  const float* packed;  // their part of a, tile by tile
  float* sums;          // (rows, kTileCols): what one pass leaves to the next
  float* edge;          // (rows, kTileCols): what these steps leave to the next ones where c has no room for it
};

// One panel of columns for the rows of a block, in passes over its steps. What the steps before left is in c.
void multiply_panel(const Block& block, int64_t panel) {
  const Gemm& g = block.g;
  const Corner at{block.row, panel * kTileCols};
  const int64_t cols = std::min<int64_t>(kTileCols, g.n - at.col);
  const int width = panel_width(cols);
  const bool in_place = reads_in_place(g);
  const MultiplyTile* tiles =
      in_place ? kDirectTiles[width / kLanes - 1].data() : kPackedTiles[width / kLanes - 1].data();
  const float* b = g.b + at.col * g.k;
  const Epilogue& e = g.epilogue;
  const bool fits = cols == width, final = sums_are_final(e) && fits;
  HWY_ALIGN float bias[kTileCols] = {};
  if (e.bias && e.alpha == 1) std::copy_n(e.bias + at.col, cols, bias);
  float* result = g.c + at.row * g.c_stride + at.col;
  float* carry = fits ? result : block.edge;
  const int64_t carry_stride = fits ? g.c_stride : kTileCols, depth = block.last - block.first;
  const int64_t passes = std::max<int64_t>((depth + kMaxSteps - 1) / kMaxSteps, 1),
                steps = (depth + passes - 1) / passes;
  for (int64_t done = 0, pass = 0; pass < passes; ++pass, done += steps) {
    const int64_t first = block.first + done, count = std::min(steps, block.last - first);
    const bool ends_block = pass == passes - 1, ends = ends_block && block.last == g.k, direct = ends && final;
    for (int64_t t = 0, row = 0; t < block.tiling.num_tiles; ++t) {
      const int64_t height = block.tiling.height(t);
      TileBase base;
      if (first == 0) {
        base.bias = bias;
        if (final && e.residual.data) {
          base.matrix = e.residual.at(at.row + row, at.col);
          base.stride = e.residual.row_stride;
        }
      } else {
        base.matrix = pass ? block.sums + row * kTileCols : carry + row * carry_stride;
        base.stride = pass ? kTileCols : carry_stride;
      }
      // The first tiles bring in the next panel, each one of the lines of its steps.
      base.ahead = b + (t < kTileVectors ? width * g.k + t * kLanes : 0) + first * width;
      const bool carries = direct || (ends_block && !ends);
      float* to = carries ? carry + row * carry_stride : block.sums + row * kTileCols;
      const float* a =
          in_place ? g.a.data + (at.row + row) * g.a.row_stride + first : block.packed + row * depth + done * height;
      tiles[height - 1](a, g.a.row_stride, b + first * width, count, base, to, carries ? carry_stride : kTileCols);
      if (ends && !final) finish_tile(g, to, {at.row + row, at.col}, height, cols);
      row += height;
    }
  }
}

// Whether the epilogue still reads what c holds when its sums are complete.
bool keeps_result_memory(const Gemm& g) {
  return !sums_are_final(g.epilogue) && (g.epilogue.gate.data == g.c || g.epilogue.residual.data == g.c);
}

// Rows [row, row + rows) of c for the column panels [first, last), `depth` steps of k at a time.
void multiply_block(const Gemm& g, int64_t row, int64_t rows, PanelRange panels, int64_t depth, float* scratch) {
  const bool in_place = reads_in_place(g);
  float* edge = scratch + rows * kTileCols;
  float* packed = edge + rows * kTileCols;
  Block block{g, Tiling(rows, in_place ? kDirectRows : kTileRows), row, 0, 0, packed, scratch, edge};
  do {
    block.first = block.last;
    block.last = std::min(g.k, block.first + depth);
    const int64_t steps = block.last - block.first;
    for (int64_t t = 0, at = 0; t < block.tiling.num_tiles && !in_place; at += block.tiling.height(t), ++t) {
      const MatrixRef a{g.a.at(row + at, block.first), g.a.row_stride, g.a.col_stride};
      pack_rows(a, static_cast<int>(block.tiling.height(t)), steps, packed + at * steps);
    }
    for (int64_t p = panels.first; p < panels.last; ++p) multiply_panel(block, p);
  } while (block.last < g.k);
}

void multiply(const Gemm& g, void* scratch, int num_threads) {
  if (g.m <= 0 || g.n <= 0) return;
  const Split split = split_work(g.m, g.n, g.k, num_threads);
  const int64_t panels = (g.n + kTileCols - 1) / kTileCols;
  const int64_t thread_floats = thread_scratch_floats(split, g.k);
  const int64_t depth = keeps_result_memory(g) ? g.k : depth_of(g.k);
  const int64_t rows = std::max<int64_t>(split.block_rows * depth_of(g.k) / std::max<int64_t>(depth, 1), 1);
  parallel_for(split.num_blocks * split.num_ranges, 1, num_threads, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / split.num_ranges * split.block_rows, panel = i % split.num_ranges * split.panels;
      const PanelRange range{panel, std::min(panels, panel + split.panels)};
      const int64_t end_row = std::min(row + split.block_rows, g.m);
      for (int64_t at = row; at < end_row; at += rows)
        multiply_block(g, at, std::min(rows, end_row - at), range, depth,
                       static_cast<float*>(scratch) + thread * thread_floats);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plica::cpu {

HWY_EXPORT(packed_bytes_of);
HWY_EXPORT(pack_panels);
HWY_EXPORT(scratch_bytes_of);
HWY_EXPORT(multiply);

size_t packed_b_bytes(int64_t n, int64_t k) { return HWY_DYNAMIC_DISPATCH(packed_bytes_of)(n, k); }

void pack_b(MatrixRef b, int64_t n, int64_t k, float* packed, int num_threads) {
  HWY_DYNAMIC_DISPATCH(pack_panels)(b, n, k, packed, num_threads);
}

size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int num_threads) {
  return HWY_DYNAMIC_DISPATCH(scratch_bytes_of)(m, n, k, num_threads);
}

void gemm(const Gemm& gemm, void* scratch, int num_threads) {
  HWY_DYNAMIC_DISPATCH(multiply)(gemm, scratch, num_threads);
}

}  // namespace plica::cpu
#endif  // HWY_ONCE
