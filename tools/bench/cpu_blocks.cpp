// The CPU building blocks against the clock: GFLOP/s of matrix products and attention at the shapes of real models.
#include <benchmark/benchmark.h>

#include <vector>

#include "ops/cpu/attention.h"
#include "ops/cpu/gemm.h"
#include "plica/tensor.h"

namespace plica::cpu {
namespace {

struct Memory {
  Tensor tensor;
  float* get() { return tensor.as<float>(); }
};

Memory allocate(size_t bytes) {
  return {*Tensor::zeros(DType::kF32, {static_cast<int64_t>(bytes / sizeof(float)) + 16})};
}

Memory values(int64_t count) {
  Memory memory = allocate(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) memory.get()[i] = static_cast<float>(i * 7919 % 2000) / 1000.0f - 1;
  return memory;
}

void report(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// Arguments: M, N, K.
void multiply(benchmark::State& state, Activation activation) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Memory a = values(m * k), b = values(k * n), bias = values(n), c = values(m * n);
  Memory packed = allocate(packed_b_bytes(n, k)), scratch = allocate(gemm_scratch_bytes(m, n, k, 1));
  pack_b({b.get(), n, 1}, n, k, packed.get(), 1);
  Gemm g{m, n, k, {a.get(), k, 1}, packed.get(), c.get(), n, {}};
  g.epilogue.bias = bias.get();
  g.epilogue.activation = activation;
  for (auto _ : state) gemm(g, scratch.get(), 1);
  report(state, 2.0 * static_cast<double>(m * n * k));
}

// Arguments: L, D.
void attend_all(benchmark::State& state) {
  const int64_t length = state.range(0), width = state.range(1), block = attention_block(length);
  Memory q = values(length * width), k = values(length * width), v = values(length * width), y = values(length * width);
  Memory scratch = allocate(attention_scratch_bytes(width, width)), terms = allocate(block_terms_bytes(length, length));
  AttentionHead head;
  head.num_queries = head.num_keys = length;
  head.width = head.value_width = width;
  head.q = q.get(), head.k = k.get(), head.v = v.get(), head.y = y.get();
  head.q_stride = head.k_stride = head.v_stride = head.y_stride = width;
  for (auto _ : state)
    for (int64_t first = 0; first < length; first += block)
      attend(head, first, make_block_terms({}, head, first, terms.get()), scratch.get());
  report(state, 4.0 * static_cast<double>(length * length * width));
}

void shapes(benchmark::internal::Benchmark* b) {
  for (auto [n, k] :
       {std::pair{960, 320}, {1280, 320}, {320, 1280}, {2560, 640}, {640, 2560}, {5120, 1280}, {1280, 5120}})
    for (int m : {1, 16, 128, 2048}) b->Args({m, n, k});
  b->Args({16384, 4, 128})->Args({16384, 512, 128})->Args({512, 256, 64})->Args({257, 33, 24});
}

BENCHMARK_CAPTURE(multiply, plain, Activation::kNone)->Apply(shapes);
BENCHMARK_CAPTURE(multiply, gelu, Activation::kGelu)->Args({128, 1280, 320})->Args({2048, 1280, 320});
BENCHMARK(attend_all)->ArgsProduct({{32, 128, 257, 512}, {16, 24, 32, 64}});

}  // namespace
}  // namespace plica::cpu

BENCHMARK_MAIN();
