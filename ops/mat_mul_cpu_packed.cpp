#include "ops/mat_mul_cpu_packed.h"

#include <algorithm>

#include "ops/cpu/gemm.h"
#include "ops/cpu/threads.h"
#include "ops/leading_axes.h"
#include "ops/packed_weight.h"

namespace plica::mat_mul_packed {
namespace {

enum Operand : size_t { kA, kB, kBias, kGate, kResidual, kY, kNumOperands };
using Operands = std::array<const TensorType*, kNumOperands>;  // null where absent

Operands operands_of(const Case& c) {
  Operands all{};
  for (size_t i = 0; i < kY; ++i) all[i] = c.has(i) ? c.in[i].type : nullptr;
  all[kY] = c.out[0].type;
  return all;
}

Operands operands_of(const KernelArgs& args) {
  Operands all{};
  for (size_t i = 0; i < kY; ++i) all[i] = args.has(i) ? &args.in[i].type : nullptr;
  all[kY] = &args.out[0].type;
  return all;
}

// A MatMul as products of matrices. Batch axes that share b and lie in line with the rows of a have become rows.
struct Products {
  cpu::Gemm gemm;  // of one product, without data
  cpu::MatrixRef b;
  LeadingAxes<kNumOperands> batch;
  bool divides_batch;   // threads take whole products, each alone
  size_t packed_bytes;  // of one b
};

std::array<AxisStrides, kNumOperands> strides_of(const Operands& all, size_t rank) {
  std::array<AxisStrides, kNumOperands> strides{};
  for (size_t i = 0; i < kNumOperands; ++i)
    if (all[i] != nullptr && i != kBias) strides[i] = strides_in(*all[i], rank);
  return strides;
}

Products products_of(const Operands& all, int num_threads) {
  const Shape& shape = all[kY]->shape;
  const size_t rank = shape.size(), row = rank - 2, last = rank - 1;
  std::array<AxisStrides, kNumOperands> strides = strides_of(all, rank);
  Products p{{}, {}, LeadingAxes<kNumOperands>({}, {}), false, 0};
  p.gemm.n = shape[last];
  p.gemm.k = all[kA]->shape.back();
  p.gemm.a.col_stride = strides[kA][last];
  p.b = {nullptr, strides[kB][row], strides[kB][last]};
  p.gemm.epilogue.gate.col_stride = strides[kGate][last];
  p.gemm.epilogue.residual.col_stride = strides[kResidual][last];
  strides[kB][row] = 0;
  p.batch = LeadingAxes<kNumOperands>(std::span(shape).first(last), strides);
  p.gemm.m = 1;
  const size_t rows = p.batch.rank - 1;
  if (p.batch.rank > 0 && p.batch.strides[kB][rows] == 0) {
    p.gemm.m = p.batch.sizes[rows];
    p.gemm.a.row_stride = p.batch.strides[kA][rows];
    p.gemm.c_stride = p.batch.strides[kY][rows];
    p.gemm.epilogue.gate.row_stride = p.batch.strides[kGate][rows];
    p.gemm.epilogue.residual.row_stride = p.batch.strides[kResidual][rows];
    --p.batch.rank;
  }
  p.divides_batch = num_threads == 1 || p.batch.count() >= 2 * num_threads;
  p.packed_bytes = packed_weight_bytes(p.gemm.n, p.gemm.k);
  return p;
}

size_t product_scratch_bytes(const Products& p, int num_threads) {
  const int threads = p.divides_batch ? 1 : num_threads;
  return (cpu::gemm_scratch_bytes(p.gemm.m, p.gemm.n, p.gemm.k, threads) + 63) / 64 * 64;
}

bool rows_or_columns_adjacent(const TensorType& type) {
  const size_t rank = type.shape.size();
  const AxisStrides strides = strides_in(type, rank);
  return type.shape[rank - 1] <= 1 || type.shape[rank - 2] <= 1 || strides[rank - 1] == 1 || strides[rank - 2] == 1;
}

bool is_shared_constant(const Case& c) {
  const Shape& shape = c.in[kB].type->shape;
  return c.in[kB].constant != nullptr && num_elements(shape) == shape.back() * shape.end()[-2];
}

// What one product reads and writes.
cpu::Gemm product(const Products& p, const KernelArgs& args, int64_t index, const float* packed) {
  const auto at = p.batch.at(index);
  const auto data = [&](size_t i) {
    return args.has(i) ? static_cast<const float*>(args.in[i].data) + at[i] : nullptr;
  };
  cpu::Gemm g = p.gemm;
  g.a.data = data(kA);
  g.b = packed;
  g.c = static_cast<float*>(args.out[0].data) + at[kY];
  g.epilogue.bias = data(kBias);
  g.epilogue.gate.data = data(kGate);
  g.epilogue.residual.data = data(kResidual);
  return g;
}

}  // namespace

const char* declines(const ops::MatMul&, const Case& c) {
  const Operands all = operands_of(c);
  for (const TensorType* type : all)
    if (type != nullptr && type->dtype != DType::kF32) return "an operand is not f32";
  if (!rows_or_columns_adjacent(*all[kA])) return "neither rows nor columns of a are adjacent values";
  if (!rows_or_columns_adjacent(*all[kB])) return "neither rows nor columns of b are adjacent values";
  if (all[kY]->shape.back() > 1 && strides_in(*all[kY], all[kY]->shape.size())[all[kY]->shape.size() - 1] != 1)
    return "rows of y are not adjacent values";
  if (all[kBias] != nullptr && !is_dense(*all[kBias])) return "bias is not dense";
  return nullptr;
}

size_t scratch_bytes(const ops::MatMul&, const Case& c) {
  const int num_threads = c.device.num_threads;
  const Products p = products_of(operands_of(c), num_threads);
  const size_t packed = is_shared_constant(c) ? 0 : p.packed_bytes;
  return (packed + product_scratch_bytes(p, num_threads)) * static_cast<size_t>(p.divides_batch ? num_threads : 1);
}

Result<KernelState> prepare(const ops::MatMul&, const Case& c, ConstantStore& constants) {
  if (!is_shared_constant(c)) return KernelState();
  return packed_weight(c.in[kB], c.device.num_threads, constants);
}

void run(const ops::MatMul& op, const KernelArgs& args) {
  Products p = products_of(operands_of(args), args.num_threads);
  p.gemm.epilogue.alpha = static_cast<float>(op.alpha);
  p.gemm.epilogue.activation = static_cast<cpu::Activation>(op.activation);
  p.gemm.epilogue.gate_sigmoid = op.gate_sigmoid;
  const auto* prepared = static_cast<const float*>(args.state);
  const size_t packed_bytes = prepared != nullptr ? 0 : p.packed_bytes;
  const size_t thread_bytes = packed_bytes + product_scratch_bytes(p, args.num_threads);
  const auto multiply = [&](int64_t begin, int64_t end, int thread) {
    const int team = p.divides_batch ? 1 : args.num_threads;
    auto* memory = static_cast<std::byte*>(args.scratch) + static_cast<size_t>(thread) * thread_bytes;
    auto* packed = reinterpret_cast<float*>(memory);
    const float* last_b = nullptr;
    for (int64_t i = begin; i < end; ++i) {
      const float* b = static_cast<const float*>(args.in[kB].data) + p.batch.at(i)[kB];
      if (prepared == nullptr && b != last_b)
        cpu::pack_b({b, p.b.row_stride, p.b.col_stride}, p.gemm.n, p.gemm.k, packed, team);
      last_b = b;
      cpu::gemm(product(p, args, i, prepared != nullptr ? prepared : packed), memory + packed_bytes, team);
    }
  };
  const int64_t count = p.batch.count();
  if (p.divides_batch) return cpu::parallel_for(count, 1, args.num_threads, multiply);
  multiply(0, count, 0);
}

}  // namespace plica::mat_mul_packed
