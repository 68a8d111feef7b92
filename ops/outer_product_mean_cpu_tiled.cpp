#include "ops/outer_product_mean_cpu_tiled.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/gemm.h"
#include "ops/cpu/threads.h"
#include "ops/packed_weight.h"
#include "ops/strided.h"

namespace plica::outer_product_mean_tiled {
namespace {

enum Input : size_t { kA, kB, kWeight, kBias, kNorm, kResidual };
constexpr int64_t kTileBytes = 128 << 10;  // of outer products

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Sizes, and where things lie in scratch: the packed weight (where it is not prepared), b packed for one batch element, then what
// each thread needs: products (C1, J, C2), the same as rows (J, C1 C2), and scratch of the matrix products.
struct Layout {
  int64_t batch, depth, n, m, left, right, channels;
  int64_t tile_cols;  // J, columns j of one tile
  size_t weight_bytes, b_bytes, tile_bytes, gemm_bytes;

  Layout(const TensorType& a, const TensorType& b, int64_t num_channels, bool prepared)
      : batch(a.shape[0]),
        depth(a.shape[1]),
        n(a.shape[2]),
        m(b.shape[2]),
        left(a.shape[3]),
        right(b.shape[3]),
        channels(num_channels) {
    const int64_t pair_bytes = std::max<int64_t>(left * right, 1) * static_cast<int64_t>(sizeof(float));
    const int64_t most = std::clamp<int64_t>(kTileBytes / pair_bytes, 1, std::max<int64_t>(m, 1));
    const int64_t tiles = (m + most - 1) / most;
    tile_cols = tiles > 0 ? (m + tiles - 1) / tiles : 1;
    weight_bytes = prepared ? 0 : packed_weight_bytes(channels, left * right);
    b_bytes = static_cast<size_t>(num_tiles()) * packed_tile_bytes();
    tile_bytes = rounded(static_cast<size_t>(tile_cols * pair_bytes));
    gemm_bytes = rounded(std::max(cpu::gemm_scratch_bytes(left, tile_cols * right, depth, 1),
                                  cpu::gemm_scratch_bytes(tile_cols, channels, left * right, 1)));
  }
  int64_t num_tiles() const { return (m + tile_cols - 1) / tile_cols; }
  int64_t cols_of(int64_t tile) const { return std::min(tile_cols, m - tile * tile_cols); }
  size_t packed_tile_bytes() const { return packed_weight_bytes(tile_cols * right, depth); }
  size_t thread_bytes() const { return 2 * tile_bytes + gemm_bytes; }
  size_t shared_bytes() const { return weight_bytes + b_bytes; }
};

class Run {
 public:
  Run(const ops::OuterProductMean& op, const KernelArgs& args)
      : args_(args),
        layout_(args.in[kA].type, args.in[kB].type, args.out[0].type.shape[3], args.state != nullptr),
        scale_(static_cast<float>(op.scale)),
        a_(strides_in(args.in[kA].type, 4)),
        b_(strides_in(args.in[kB].type, 4)),
        y_(strides_in(args.out[0].type, 4)) {
    if (args.has(kNorm)) norm_ = strides_in(args.in[kNorm].type, 4);
    if (args.has(kResidual)) residual_ = strides_in(args.in[kResidual].type, 4);
    weight_ = static_cast<const float*>(args.state);
    if (weight_ != nullptr) return;
    cpu::MatrixRef weight = last_axes(args.in[kWeight].type);
    weight.data = data(kWeight, 0);
    auto* packed = static_cast<float*>(args.scratch);
    cpu::pack_b(weight, layout_.channels, layout_.left * layout_.right, packed, args.num_threads);
    weight_ = packed;
  }

  void all() const {
    const int64_t tiles = layout_.num_tiles();
    for (int64_t batch = 0; batch < layout_.batch; ++batch) {
      cpu::parallel_for(tiles, 1, args_.num_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t t = begin; t < end; ++t) pack_columns(batch, t);
      });
      cpu::parallel_for(layout_.n * tiles, 1, args_.num_threads, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t i = begin; i < end; ++i) tile(batch, i / tiles, i % tiles, thread);
      });
    }
  }

 private:
  const float* data(size_t i, int64_t at) const { return static_cast<const float*>(args_.in[i].data) + at; }

  float* packed_columns(int64_t tile) const {
    auto* base = static_cast<std::byte*>(args_.scratch) + layout_.weight_bytes;
    return reinterpret_cast<float*>(base + static_cast<size_t>(tile) * layout_.packed_tile_bytes());
  }

  void pack_columns(int64_t batch, int64_t tile) const {
    const int64_t cols = layout_.cols_of(tile) * layout_.right;  // (j, e) are adjacent
    cpu::pack_b({data(kB, batch * b_[0] + tile * layout_.tile_cols * b_[2]), b_[1], 1}, cols, layout_.depth,
                packed_columns(tile), 1);
  }

  void tile(int64_t batch, int64_t i, int64_t tile, int thread) const {
    const int64_t left = layout_.left, right = layout_.right, cols = layout_.cols_of(tile),
                  j = tile * layout_.tile_cols;
    auto* memory = static_cast<std::byte*>(args_.scratch) + layout_.shared_bytes() +
                   static_cast<size_t>(thread) * layout_.thread_bytes();
    auto* products = reinterpret_cast<float*>(memory);                   // (C1, J, C2)
    auto* rows = reinterpret_cast<float*>(memory + layout_.tile_bytes);  // (J, C1 C2)
    void* scratch = memory + 2 * layout_.tile_bytes;
    cpu::Gemm outer{left, cols * right, layout_.depth};
    outer.a = {data(kA, batch * a_[0] + i * a_[2]), a_[3], a_[1]};
    outer.b = packed_columns(tile);
    outer.c = products;
    outer.c_stride = cols * right;
    cpu::gemm(outer, scratch, 1);
    for (int64_t col = 0; col < cols; ++col) {
      const float norm = args_.has(kNorm) ? *data(kNorm, batch * norm_[0] + i * norm_[1] + (j + col) * norm_[2]) : 1;
      const float factor = scale_ / norm;
      for (int64_t c = 0; c < left; ++c) {
        const float* from = products + (c * cols + col) * right;
        float* to = rows + (col * left + c) * right;
        for (int64_t e = 0; e < right; ++e) to[e] = from[e] * factor;
      }
    }
    cpu::Gemm project{cols, layout_.channels, left * right, {rows, left * right, 1}, weight_};
    project.c = static_cast<float*>(args_.out[0].data) + batch * y_[0] + i * y_[1] + j * y_[2];
    project.c_stride = y_[2];
    if (args_.has(kBias)) project.epilogue.bias = data(kBias, 0);
    if (args_.has(kResidual))
      project.epilogue.residual = {data(kResidual, batch * residual_[0] + i * residual_[1] + j * residual_[2]),
                                   residual_[2], residual_[3]};
    cpu::gemm(project, scratch, 1);
  }

  const KernelArgs& args_;
  Layout layout_;
  float scale_;
  AxisStrides a_, b_, y_, norm_{}, residual_{};
  const float* weight_;
};

Layout layout_of(const Case& c) {
  return Layout(*c.in[kA].type, *c.in[kB].type, c.out[0].type->shape[3], c.in[kWeight].constant != nullptr);
}

}  // namespace

const char* declines(const ops::OuterProductMean&, const Case& c) {
  for (size_t i = 0; i < c.in.size(); ++i)
    if (c.has(i) && c.in[i].type->dtype != DType::kF32) return "an operand is not f32";
  const AxisStrides b = strides_in(*c.in[kB].type, 4), y = strides_in(*c.out[0].type, 4);
  const Shape& shape = c.in[kB].type->shape;
  if ((shape[3] > 1 && b[3] != 1) || (shape[2] > 1 && b[2] != shape[3]))
    return "the columns of b are not adjacent values";
  if (c.out[0].type->shape[3] > 1 && y[3] != 1) return "rows of y are not adjacent values";
  if (c.has(kBias) && !is_dense(*c.in[kBias].type)) return "bias is not dense";
  return nullptr;
}

size_t scratch_bytes(const ops::OuterProductMean&, const Case& c) {
  const Layout layout = layout_of(c);
  return layout.shared_bytes() + layout.thread_bytes() * static_cast<size_t>(c.device.num_threads);
}

Result<KernelState> prepare(const ops::OuterProductMean&, const Case& c, ConstantStore& constants) {
  if (c.in[kWeight].constant == nullptr) return KernelState();
  return packed_weight(c.in[kWeight], c.device.num_threads, constants);
}

void run(const ops::OuterProductMean& op, const KernelArgs& args) {
  if (num_elements(args.out[0].type.shape) > 0) Run(op, args).all();
}

}  // namespace plica::outer_product_mean_tiled
