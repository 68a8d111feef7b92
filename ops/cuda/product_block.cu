#include <cmath>

#include "ops/cuda/product_block.cuh"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica::cuda {
namespace {

// Whether all but the last `num_last` strides are whole vectors, and the last is 1.
bool has_vector_rows(const AxisStrides& strides, size_t rank, int64_t width) {
  bool fits = strides[rank - 1] == 1;
  for (size_t i = 0; i + 1 < rank; ++i) fits &= strides[i] % width == 0;
  return fits;
}

}  // namespace

const char* make_block_product(const ops::MatMul& op, const Case& c, BlockProduct& p) {
  if (const char* why = over_rank(c)) return why;
  const TensorType &a = *c.in[0].type, &b = *c.in[1].type, &y = *c.out[0].type;
  const size_t rank = y.shape.size();
  const auto width = static_cast<int64_t>(16 / size_of(y.dtype));
  if (c.has(3)) return "a gate";
  if (num_elements(y.shape) == 0 || a.shape.back() == 0) return "a size is 0";
  if (num_elements(y.shape) / y.shape.back() >= int64_t{1} << 31) return "2^31 rows";
  if (y.shape.back() % width != 0 || a.shape.back() % width != 0)
    return "columns or depth are no whole vectors of 16 bytes";
  std::array<AxisStrides, 3> rows{strides_in(a, rank), strides_in(y, rank)};
  if (c.has(4)) rows[2] = strides_in(*c.in[4].type, rank);
  const AxisStrides of_b = strides_in(b, rank);
  for (size_t i = 0; i + 2 < rank; ++i)
    if (of_b[i] != 0) return "a batch of b";
  bool fits = has_vector_rows(rows[0], rank, width) && has_vector_rows(rows[1], rank, width) &&
              (!c.has(4) || has_vector_rows(rows[2], rank, width)) && of_b[rank - 1] == 1 &&
              of_b[rank - 2] % width == 0 && (!c.has(2) || strides_in(*c.in[2].type, 1)[0] == 1);
  for (const Operand& operand : c.in) fits &= operand.type == nullptr || operand.alignment_bytes % 16 == 0;
  if (!fits || c.out[0].alignment_bytes % 16 != 0) return "rows of an operand are no whole vectors of 16 bytes";
  p.rows = make_layout<3>(std::span<const int64_t>(y.shape).first(rank - 1), rows);
  p.m = static_cast<int>(p.rows.count);
  p.n = static_cast<int>(y.shape.back());
  p.k = static_cast<int>(a.shape.back());
  p.constant_b = c.in[1].constant != nullptr;
  p.activation = op.activation;
  p.alpha = static_cast<float>(op.alpha);
  p.b_row = of_b[rank - 2];
  return nullptr;
}

BlockChoice choose_tile(const BlockProduct& p, std::span<const BlockTile> tiles) {
  constexpr int kMultiprocessors = 132;
  constexpr double kClusterUs = 0.3;
  BlockChoice best;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const BlockTile& tile = tiles[i];
    const int64_t stages = ceil_div(p.k, tile.depth), blocks = ceil_div(p.m, tile.rows) * ceil_div(p.n, tile.columns);
    for (const int ranks :
         {1, 2, 4, 5, kMostRanks}) {  // others leave multiprocessors of a cluster's neighbourhood idle
      if (ranks > stages) break;
      // Blocks of one multiprocessor share it.
      const auto at_once = static_cast<double>(ceil_div(blocks * ranks, kMultiprocessors));
      const double us = at_once * static_cast<double>(ceil_div(stages, ranks)) * tile.stage_us +
                        std::ceil(at_once / tile.blocks_at_once) * tile.block_us + (ranks > 1 ? kClusterUs : 0);
      if (best.us == 0 || us < best.us) best = {static_cast<int>(i), ranks, us};
    }
  }
  return best;
}

void set_operands(const KernelArgs& args, BlockProduct& p) {
  p.a = args.in[0].data;
  p.b = args.in[1].data;
  p.bias = args.has(2) ? args.in[2].data : nullptr;
  p.residual = args.has(4) ? args.in[4].data : nullptr;
  p.y = args.out[0].data;
}

}  // namespace plica::cuda
