// Long because all that a warpgroup does with a unit of rows stands together.
#pragma once

#include "ops/cuda/approximate.cuh"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/gated_product_boxes.cuh"
#include "ops/cuda/gated_product_tiles.cuh"
#include "ops/cuda/raw_pack.cuh"
#include "ops/cuda/wgmma.cuh"
#include "ops/cuda/wgmma_narrow.cuh"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda::gated {

// Of x + bias, to 2^-21.
__device__ inline float sigmoid_near(float x, float bias) {
  constexpr float kMinusLog2E = -1.44269504f;
  return inverse_approximate(1.0f + exp2_approximate(fmaf(x, kMinusLog2E, bias * kMinusLog2E)));
}

// A warpgroup. Of a unit's 64 rows a thread holds, in fragments of products, row `row(0)` and the one 8 further.
template <class C>
class Worker {
 public:
  using T = typename C::T;

  __device__ Worker(const GatedProduct& p, const Maps& maps, const Places& at, int first_column, int chunks)
      : p_(p), maps_(maps), at_(at), first_column_(first_column), chunks_(chunks) {}

  __device__ bool has(int64_t unit) const { return unit * kUnitRows < p_.rows; }

  // Begins to bring a unit of rows.
  __device__ void bring(int64_t unit) const {
    const int64_t first = unit * kUnitRows;
    if constexpr (C::kBoxes) {
      if (thread() == 0) bring_boxes(static_cast<int>(first));
      return;
    }
    if constexpr (C::kFirst)
      bring_channels(first);
    else
      bring_rows(at_.a, p_.a, p_.a_step, first);
    if constexpr (C::kTwo) bring_rows(at_.b, p_.b, p_.b_step, first);
  }

  // Makes every step-th unit from `unit` on, which is on its way.
  __device__ void run(int64_t unit, int64_t step) const {
    uint32_t phase = 0;
#pragma unroll 1
    for (; has(unit); unit += step, phase ^= 1) {
      Fragments f;
      if constexpr (C::kBoxes) {
        wait_barrier(&shared_at<uint64_t>(at_.unit_ready), phase);
      } else {
        wait_for_copies<0>();
        sync();
      }
      const Masks masks = masks_of(unit);
      take(f);
      sync();
      if (has(unit + step)) bring(unit + step);
      if constexpr (!C::kBoxes) commit_copies();
      prepare(f);
      for (int r = 0; r < 2; ++r) f.mask[r] = widen(masks.row[r]);
#pragma unroll 1
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        if constexpr (C::kBoxes) wait_barrier(&shared_at<uint64_t>(at_.chunks_ready + chunk * 8), 0);
        expect_residual(unit, chunk);
#pragma unroll 1
        for (int part = 0; part < C::kParts; ++part) {
          Sums sum;
          multiply(f, chunk, part, sum);
          wait_for_products<0>();
          pin_registers(sum);
          gate(sum, f, chunk, part);
          add_residual(sum, unit, chunk, part);
          if (part == 0) await_stage();
          put_on_stage(sum, part);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        sync_stage();
        if (p_.tiles)
          store_tile(unit, chunk);
        else if constexpr (C::kTransposed)
          store_columns(unit, chunk);
        else
          store_rows(unit, chunk);
      }
    }
    if (stores_tiles()) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }

 private:
  using Sums = float[C::kPart];  // values of a part's columns, then gates
  struct Fragments {
    uint32_t a[C::kSteps][4], b[C::kTwo ? C::kSteps : 1][4];
    float mask[2];  // of the two rows
    float a_scale[C::kPairs ? 2 : 1],
        b_scale[C::kPairs && C::kTwo ? 2 : 1];  // what products of pairs are multiplied by
  };
  struct Masks {
    T row[2];
  };
  __device__ static int thread() { return threadIdx.x % kGroupThreads; }
  __device__ static int warp() { return thread() / kWarp; }
  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ static int row(int r) { return warp() * 16 + r * 8 + lane() / 4; }
  __device__ static void sync() {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + static_cast<int>(threadIdx.x) / kGroupThreads) : "memory");
  }

  __device__ void bring_boxes(int row) const {
    arrive_expecting(&shared_at<uint64_t>(at_.unit_ready), (C::kTwo ? 2 : 1) * C::kSourceBytes);
    if constexpr (C::kFirst)
      copy_box(at_.a, maps_.a, row, 0, at_.unit_ready);
    else
      bring_lines<C>(at_.a, maps_.a, row, at_.unit_ready, kUnitRows * kLine);
    if constexpr (C::kTwo) bring_lines<C>(at_.b, maps_.b, row, at_.unit_ready, kUnitRows * kLine);
  }
  __device__ void bring_rows(uint32_t to, const void* from, int64_t step, int64_t first) const {
    constexpr int kUnits = C::kDepth / C::kUnit;
#pragma unroll
    for (int i = thread(); i < kUnitRows * kUnits; i += kGroupThreads) {
      const int unit = i % kUnits, row = i / kUnits;
      const bool valid = first + row < p_.rows && unit * C::kUnit < p_.depth;
      bring_16(to + place_in_slabs(kUnitRows, row, unit),
               static_cast<const T*>(from) + (valid ? (first + row) * step + unit * C::kUnit : 0), valid);
    }
  }
  __device__ void bring_channels(int64_t first) const {
    constexpr int kUnits = kUnitRows / C::kUnit;
#pragma unroll
    for (int i = thread(); i < C::kDepth * kUnits; i += kGroupThreads) {
      const int unit = i % kUnits, channel = i / kUnits;
      const bool valid = first + unit * C::kUnit < p_.rows && channel < p_.depth;
      bring_16(at_.a + place_in_channels<C>(channel, unit),
               static_cast<const T*>(p_.a) + (valid ? channel * p_.a_step + first + unit * C::kUnit : 0), valid);
    }
  }

  // Asked for before anything waits for them.
  __device__ Masks masks_of(int64_t unit) const {
    Masks masks;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t at = unit * kUnitRows + row(r);
      masks.row[r] = narrow<T>(1.0f);
      if (p_.mask != nullptr && at < p_.rows) masks.row[r] = static_cast<const T*>(p_.mask)[at * p_.mask_step];
    }
    return masks;
  }
  __device__ void take(Fragments& f) const {
    if constexpr (C::kFirst)
      take_channels(f.a);
    else
      take_rows(at_.a, f.a);
    if constexpr (C::kTwo) take_rows(at_.b, f.b);
  }
  __device__ static void take_rows(uint32_t from, uint32_t (&f)[C::kSteps][4]) {
#pragma unroll
    for (int k = 0; k < C::kSteps; ++k)
      load_matrices(f[k], from + place_in_slabs(kUnitRows, warp() * 16 + lane() % 16, k * 2 + lane() / 16));
  }
  __device__ void take_channels(uint32_t (&f)[C::kSteps][4]) const {
#pragma unroll
    for (int k = 0; k < C::kSteps; ++k)
      if constexpr (C::kWide) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int channel = k * 8 + i / 2 * 4 + lane() % 4, r = row(i % 2);
          f[k][i] = shared_at<uint32_t>(at_.a + place_in_channels<C>(channel, r / 4) + r % 4 * 4);
        }
      } else {
        const int channel = k * 16 + lane() / 16 * 8 + lane() % 8;
        load_matrices<true>(f[k], at_.a + place_in_channels<C>(channel, warp() * 2 + lane() / 8 % 2));
      }
  }

  __device__ void prepare(Fragments& f) const {
    if (p_.norm.gamma != nullptr) normalise(f.a, at_.norms, p_.norm.eps);
    if constexpr (C::kTwo)
      if (p_.gate_norm.gamma != nullptr) normalise(f.b, at_.norms + C::kNormBytes, p_.gate_norm.eps);
    if constexpr (C::kPairs) {
      split(f.a, f.a_scale);
      if constexpr (C::kTwo) split(f.b, f.b_scale);
    } else if constexpr (C::kWide) {
      round(f.a);
      if constexpr (C::kTwo) round(f.b);
    }
  }
  // Fragments of fp32 become those of fp16, of high parts and then of low ones; `back`: what undoes the scale of each row.
  __device__ static void split(uint32_t (&f)[C::kSteps][4], float (&back)[2]) {
    float to[2] = {};
#pragma unroll
    for (int i = 0; i < 4 * C::kSteps; ++i) to[i % 2] = fmaxf(to[i % 2], fabsf(__uint_as_float(f[i / 4][i % 4])));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      to[r] = fmaxf(to[r], __shfl_xor_sync(~0u, to[r], 1));
      const Scale scale = scale_for(fmaxf(to[r], __shfl_xor_sync(~0u, to[r], 2)));
      to[r] = scale.to, back[r] = scale.back;
    }
    uint32_t parts[C::kSteps][4];
#pragma unroll
    for (int i = 0; i < 2 * C::kSteps; ++i) {
      const int step = i / 2, r = i % 2;
      const HalfPairs pairs = split_pair(__uint_as_float(f[step][r]), __uint_as_float(f[step][r + 2]), to[r]);
      parts[step / 2][step % 2 * 2 + r] = pairs.high;
      parts[C::kProducts + step / 2][step % 2 * 2 + r] = pairs.low;
    }
#pragma unroll
    for (int i = 0; i < 4 * C::kSteps; ++i) f[i / 4][i % 4] = parts[i / 4][i % 4];
  }
  __device__ static void round(uint32_t (&f)[C::kSteps][4]) {
#pragma unroll
    for (int k = 0; k < C::kSteps; ++k)
#pragma unroll
      for (uint32_t& x : f[k]) x = __float_as_uint(nearest_tf32(__uint_as_float(x)));
  }

  // Values of a register of fragments: one, or two neighbours along the depth.
  __device__ static float2 values_of(uint32_t bits) {
    if constexpr (C::kWide)
      return {__uint_as_float(bits), 0.0f};
    else
      return widen_pair<T>(bits);
  }
  // Over the four lanes that share a row.
  __device__ static float add_lanes(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
  }

  // Two rows a thread, moments in two passes; `factors`: gamma, beta.
  __device__ static void normalise(uint32_t (&f)[C::kSteps][4], uint32_t factors, float eps) {
    float mean[2] = {}, scale[2] = {};
#pragma unroll
    for (int i = 0; i < 4 * C::kSteps; ++i) {
      const float2 v = values_of(f[i / 4][i % 4]);
      mean[i % 2] += v.x + v.y;
    }
#pragma unroll
    for (float& m : mean) m = add_lanes(m) * (1.0f / C::kDepth);
#pragma unroll
    for (int i = 0; i < 4 * C::kSteps; ++i) {
      const float2 v = values_of(f[i / 4][i % 4]);
      scale[i % 2] += (v.x - mean[i % 2]) * (v.x - mean[i % 2]);
      if constexpr (!C::kWide) scale[i % 2] += (v.y - mean[i % 2]) * (v.y - mean[i % 2]);
    }
#pragma unroll
    for (float& s : scale) {
      s = add_lanes(s) * (1.0f / C::kDepth) + eps;
      s = C::kWide ? 1.0f / sqrtf(s) : inverse_root_approximate(s);
    }
    const float shift[2] = {-mean[0] * scale[0], -mean[1] * scale[1]};
#pragma unroll
    for (int i = 0; i < 2 * C::kSteps; ++i) {
      const uint32_t at = factors + (i * 4 + lane() % 4) * 4;
      const float2 gamma = values_of(shared_at<uint32_t>(at));
      const float2 beta = values_of(shared_at<uint32_t>(at + C::kDepth * sizeof(T)));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        uint32_t& bits = f[i / 2][i % 2 * 2 + r];
        const float2 v = values_of(bits);
        if constexpr (C::kWide)
          bits = __float_as_uint((v.x - mean[r]) * scale[r] * gamma.x + beta.x);
        else
          bits = narrow_pair<T>(fmaf(fmaf(v.x, scale[r], shift[r]), gamma.x, beta.x),
                                fmaf(fmaf(v.y, scale[r], shift[r]), gamma.y, beta.y));
      }
    }
  }

  // Queues sum = (values, gates) of a chunk: 32 registers each.
  __device__ void multiply(const Fragments& f, int chunk, int part, Sums& sum) const {
    const uint64_t weights = matrix_in_shared(at_.weights + chunk * C::kChunkBytes + part * C::kPart * kLine);
    fence_products();
    if constexpr (C::kPairs) {
      multiply_part(f, C::kProducts, weights, sum, false);
      multiply_part(f, 0, weights + C::kPartBytes / 16, sum, true);
    }
    multiply_part(f, 0, weights, sum, C::kPairs);
    commit_products();
  }
  // Fragments from `first` on times a part of the weights; added where `add`.
  __device__ __forceinline__ void multiply_part(const Fragments& f, int first, uint64_t weights, Sums& sum,
                                                bool add) const {
    using Factor = typename C::Factor;
#pragma unroll
    for (int k = 0; k < C::kProducts; ++k) {
      const uint64_t values = weights + (k / 4 * C::kSlabBytes + k % 4 * 32) / 16, gates = values + kChunk * kLine / 16;
      if constexpr (C::kTwo) {
        using Half = float[C::kPart / 2];
        multiply_add<Factor>(reinterpret_cast<Half&>(sum[0]), f.a[first + k], values, add || k > 0);
        multiply_add<Factor>(reinterpret_cast<Half&>(sum[C::kPart / 2]), f.b[first + k], gates, add || k > 0);
      } else {
        multiply_add<Factor>(sum, f.a[first + k], values, add || k > 0);
      }
    }
  }

  // The first half of sums become mask * (value + bias) * activation(gate + bias).
  __device__ void gate(Sums& sum, const Fragments& f, int chunk, int part) const {
    const uint32_t biases = at_.biases + chunk * C::kBiasBytes + part * (C::kPart / 2 * 16) + lane() % 4 * 16;
    using ops::Activation;
    if constexpr (C::kSigmoid) {
      if constexpr (std::is_same_v<T, BF16>) return gate_by_tanh(sum, f, biases);
      return gate_by_sigmoids(sum, f, biases);
    }
    switch (p_.activation) {
      case Activation::kSigmoid: return gate_by(sum, f, biases, [](float g, float b) { return sigmoid_near(g, b); });
      case Activation::kSilu:
        return gate_by(sum, f, biases, [](float g, float b) { return (g + b) * sigmoid_near(g, b); });
      case Activation::kRelu: return gate_by(sum, f, biases, [](float g, float b) { return relu(g + b); });
      case Activation::kGelu: return gate_by(sum, f, biases, [](float g, float b) { return gelu_for<T>(g + b); });
      case Activation::kGeluTanh: return gate_by(sum, f, biases, [](float g, float b) { return gelu_tanh(g + b); });
      case Activation::kTanh: return gate_by(sum, f, biases, [](float g, float b) { return tanhf(g + b); });
      default: return gate_by(sum, f, biases, [](float g, float b) { return g + b; });
    }
  }
  template <class Fn>
  __device__ __forceinline__ void gate_by(Sums& sum, const Fragments& f, uint32_t biases, Fn&& activate) const {
#pragma unroll
    for (int j = 0; j < C::kPart / 8; ++j) {
      const float4 bias = shared_at<float4>(biases + j * 64);
      if constexpr (C::kPairs) scale_back(sum, f, j, shared_at<float4>(biases + 2 * kChunk * 4 + j * 64));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float value = sum[j * 4 + i] + (i % 2 == 0 ? bias.x : bias.y);
        const float gate = activate(sum[C::kPart / 2 + j * 4 + i], i % 2 == 0 ? bias.z : bias.w);
        sum[j * 4 + i] = value * f.mask[i / 2] * gate;
      }
    }
  }

  // Sigmoids by the device's tanh; docs/products.md says how near they are.
  __device__ __forceinline__ void gate_by_tanh(Sums& sum, const Fragments& f, uint32_t biases) const {
    const float half[2] = {0.5f * f.mask[0], 0.5f * f.mask[1]};
#pragma unroll
    for (int j = 0; j < C::kPart / 8; ++j) {
      const float4 bias = shared_at<float4>(biases + j * 64);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float gate = sum[C::kPart / 2 + j * 4 + i];
        const float tanh = tanh_approximate(fmaf(gate, kGateScale<T>, i % 2 == 0 ? bias.z : bias.w));
        const float value = sum[j * 4 + i] + (i % 2 == 0 ? bias.x : bias.y);
        sum[j * 4 + i] = value * fmaf(tanh, half[i / 2], half[i / 2]);
      }
    }
  }

  // Two sigmoids by one inverse; of 16 columns each by its own where a product of two has none, for one is close to 0 or NaN.
  __device__ __forceinline__ void gate_by_sigmoids(Sums& sum, const Fragments& f, uint32_t biases) const {
    constexpr float kMost = 0x1p120f;
#pragma unroll
    for (int j = 0; j < C::kPart / 8; j += 2) {
      float gates[8], both[4];  // what their inverses are; of two neighbours
      bool apart = false;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 bias = shared_at<float2>(biases + (j + i / 4) * 64 + 8);
        const float gate = sum[C::kPart / 2 + j * 4 + i];
        gates[i] = 1.0f + exp2_approximate(fmaf(gate, kGateScale<T>, i % 2 == 0 ? bias.x : bias.y));
        if (i % 2 == 0) continue;
        both[i / 2] = gates[i - 1] * gates[i];
        apart = apart || !(both[i / 2] <= kMost);
      }
      if (apart) {
#pragma unroll
        for (int i = 0; i < 8; ++i) gates[i] = f.mask[i / 2 % 2] * inverse_approximate(gates[i]);
      } else {
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
          const float near = f.mask[i / 2 % 2] * inverse_approximate(both[i / 2]), first = gates[i];
          gates[i] = near * gates[i + 1];
          gates[i + 1] = near * first;
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 bias = shared_at<float2>(biases + (j + i / 4) * 64);
        sum[j * 4 + i] = (sum[j * 4 + i] + (i % 2 == 0 ? bias.x : bias.y)) * gates[i];
      }
    }
  }

  // Values and gates of the j-th 8 columns, whose weights were scaled by what `of_weights` undoes.
  __device__ static void scale_back(Sums& sum, const Fragments& f, int j, float4 of_weights) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float of_gate = C::kTwo ? f.b_scale[C::kTwo ? i / 2 : 0] : f.a_scale[i / 2];
      sum[j * 4 + i] *= f.a_scale[i / 2] * (i % 2 == 0 ? of_weights.x : of_weights.y);
      sum[C::kPart / 2 + j * 4 + i] *= of_gate * (i % 2 == 0 ? of_weights.z : of_weights.w);
    }
  }

  // Brings what add_residual reads near, a line of 128 bytes a thread.
  __device__ void expect_residual(int64_t unit, int chunk) const {
    if constexpr (C::kTransposed) return;
    const int64_t at = unit * kUnitRows + thread() / 2;
    const int column = first_column_ + chunk * kChunk + thread() % 2 * (kChunk / 2);
    if (p_.residual == nullptr || at >= p_.rows || column >= p_.columns) return;
    const T* from = static_cast<const T*>(p_.residual) + at * p_.residual_step + column;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
  }
  // To the two rows, two neighbouring columns in every 8; all loads come before the first sum.
  __device__ void add_residual(Sums& sum, int64_t unit, int chunk, int part) const {
    if constexpr (C::kTransposed) return;
    if (p_.residual == nullptr) return;
    const int column = first_column_ + chunk * kChunk + part * C::kPart + lane() % 4 * 2;
    RawPack<T, 2> pairs[C::kPart / 4];
#pragma unroll
    for (int i = 0; i < C::kPart / 4; ++i) {
      const int64_t at = unit * kUnitRows + row(i % 2);
      const bool valid = at < p_.rows && column + i / 2 * 8 < p_.columns;
      const T* from = static_cast<const T*>(p_.residual) + at * p_.residual_step + column + i / 2 * 8;
      pairs[i] = valid ? *reinterpret_cast<const RawPack<T, 2>*>(from) : RawPack<T, 2>{};
    }
#pragma unroll
    for (int i = 0; i < C::kPart / 4; ++i) {
      take_apart<T, 2>(pairs[i], [&](int k, float value) { sum[i * 2 + k] += value; });
    }
  }

  __device__ void put_on_stage(const Sums& sum, int part) const {
    if constexpr (C::kWide) {
#pragma unroll
      for (int i = 0; i < C::kPart / 4; ++i) {
        const int column = i / 2 * 8 + lane() % 4 * 2, r = row(i % 2);
        if constexpr (C::kTransposed) {
#pragma unroll
          for (int k = 0; k < 2; ++k)
            shared_at<float>(at_.stage + place_on_stage(column + k, r / 4) + r % 4 * 4) = sum[i * 2 + k];
        } else {
          shared_at<float2>(at_.stage + place_on_stage(r, column / 4) + column % 4 * 4) = {sum[i * 2], sum[i * 2 + 1]};
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < C::kPart / 8; j += 2) {
        const int half = lane() / 8 % 2, block = part * (C::kPart / 8) + j + lane() / 16;
        uint32_t packed[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) packed[i] = narrow_pair<T>(sum[j * 4 + i * 2], sum[j * 4 + i * 2 + 1]);
        store_matrices<C::kTransposed>(
            at_.stage + (C::kTransposed ? place_on_stage(block * 8 + lane() % 8, warp() * 2 + half)
                                        : place_on_stage(warp() * 16 + half * 8 + lane() % 8, block)),
            packed);
      }
    }
  }

  // Of a stage of rows each warp has its own, which leave by themselves.
  __device__ static void sync_stage() {
    if constexpr (C::kTransposed)
      sync();
    else
      __syncwarp();
  }
  __device__ static bool stores_tiles() { return C::kTransposed ? thread() == 0 : lane() == 0; }
  // Until the chunk before has left the stage.
  __device__ static void await_stage() {
    if (stores_tiles()) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    sync_stage();
  }
  // Rows and columns beyond y are left out by the device.
  __device__ void store_tile(int64_t unit, int chunk) const {
    if (!stores_tiles()) return;
    const int column = first_column_ + chunk * kChunk, in_stage = C::kTransposed ? 0 : warp() * C::kTileLines;
    int row = static_cast<int>(unit) * kUnitRows + in_stage, batch = 0;
    if constexpr (C::kTransposed) {
      batch = static_cast<int>(p_.by_batch_rows(static_cast<uint32_t>(row)));
      row -= batch * p_.batch_rows;
    }
#pragma unroll
    for (int part = 0; part < C::kStageBytes / (kUnitRows * kLine); ++part) {
      const int inner = part * (kLine / static_cast<int>(sizeof(T)));
      asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&maps_.y),
                   "r"((C::kTransposed ? row : column) + inner), "r"(C::kTransposed ? column : row), "r"(batch),
                   "r"(at_.stage + (part * kUnitRows + in_stage) * kLine)
                   : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }

  __device__ void store_rows(int64_t unit, int chunk) const {
    constexpr int kUnits = kChunk / C::kUnit, kAtOnce = kWarp / kUnits;  // rows
    const int column = first_column_ + chunk * kChunk + lane() % kUnits * C::kUnit;
    if (column >= p_.columns) return;
    const int line = warp() * C::kTileLines + lane() / kUnits;
    const int64_t first = unit * kUnitRows + line;
    T* y = static_cast<T*>(p_.y) + first * p_.y_step + column;
#pragma unroll
    for (int i = 0; i < C::kTileLines; i += kAtOnce)
      if (first + i < p_.rows)
        *reinterpret_cast<uint4*>(y + i * p_.y_step) =
            shared_at<uint4>(at_.stage + place_on_stage(line + i, lane() % kUnits));
  }

  // Where a row of a transposed y stands.
  __device__ int64_t place_of(int64_t row) const {
    const uint32_t batch = p_.by_batch_rows(static_cast<uint32_t>(row));
    return batch * p_.y_batch + (row - int64_t{batch} * p_.batch_rows);
  }
  __device__ void store_columns(int64_t unit, int chunk) const {
    const int column = first_column_ + chunk * kChunk, left = p_.columns - column;
    T* y = static_cast<T*>(p_.y) + column * p_.y_channel;
    if (p_.vectors) {
      constexpr int kUnits = kUnitRows / C::kUnit, kAtOnce = kGroupThreads / kUnits;  // columns
      const int line = thread() / kUnits;
      const int64_t first = unit * kUnitRows + thread() % kUnits * C::kUnit;
      if (first >= p_.rows) return;
      y += place_of(first) + line * p_.y_channel;
#pragma unroll
      for (int i = 0; i < kChunk; i += kAtOnce)
        if (line + i < left)
          *reinterpret_cast<uint4*>(y + i * p_.y_channel) =
              shared_at<uint4>(at_.stage + place_on_stage(line + i, thread() % kUnits));
      return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = half * kWarp + lane();
      const int64_t at = unit * kUnitRows + r;
      if (at >= p_.rows) continue;
      T* to = y + place_of(at);
#pragma unroll 4
      for (int i = warp(); i < min(kChunk, left); i += 4)
        to[i * p_.y_channel] = shared_at<T>(at_.stage + place_on_stage(i, r / C::kUnit) + r % C::kUnit * sizeof(T));
    }
  }

  const GatedProduct& p_;
  const Maps& maps_;
  const Places& at_;
  const int first_column_, chunks_;
};

// One thread of each warpgroup begins to bring its first unit, that of the first one all weights: a few chunks of them, which the
// first products take, before it waits for what comes earlier.
template <class C>
__device__ void begin_boxes(const Worker<C>& worker, const Maps& maps, const Places& at, int first_column, int chunks,
                            int64_t unit) {
  constexpr int kAhead = 2;
  init_barrier(&shared_at<uint64_t>(at.unit_ready), 1);
  if (threadIdx.x == 0)
    for (int chunk = 0; chunk < chunks; ++chunk) init_barrier(&shared_at<uint64_t>(at.chunks_ready + chunk * 8), 1);
  fence_barrier_init();
  if (threadIdx.x == 0) bring_chunks<C>(maps, at, first_column, 0, min(chunks, kAhead));
  wait_for_earlier();
  if (worker.has(unit)) worker.bring(unit);
  if (threadIdx.x == 0) bring_chunks<C>(maps, at, first_column, kAhead, chunks);
}

// A block multiplies units of 64 rows by the weights of its columns, which stay in shared memory. Each warpgroup, by itself:
// rows come while those before are multiplied, are normalised as fragments in registers, times 64 columns
// of values and of gates; what that makes leaves through a stage in shared memory. 128 threads a warpgroup; shared memory:
// Tile::shared_bytes.
template <class C>
__global__ void __launch_bounds__(C::kThreads, 1)
    gated_product(const __grid_constant__ GatedProduct p, const __grid_constant__ Maps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const Places at = find_places<C>(p.chunks);
  const int column_group = blockIdx.x % p.column_groups, first_chunk = column_group * p.chunks;
  const int chunks = min(p.chunks, (p.columns + kChunk - 1) / kChunk - first_chunk);
  const Worker<C> worker(p, maps, at, first_chunk * kChunk, chunks);
  const int64_t unit = int64_t{blockIdx.x / p.column_groups} * C::kGroups + threadIdx.x / kGroupThreads;
  if constexpr (C::kBoxes) {
    if (threadIdx.x % kGroupThreads == 0) begin_boxes<C>(worker, maps, at, first_chunk * kChunk, chunks, unit);
    bring_vectors<C>(p, at, first_chunk * kChunk, chunks);
    __syncthreads();
    wait_for_earlier();
  } else {
    if constexpr (C::kPairs)
      split_weights<C>(p, at, first_chunk * kChunk, chunks);
    else
      bring_weights<C>(p, at, first_chunk * kChunk, chunks);
    commit_copies();
    bring_vectors<C>(p, at, first_chunk * kChunk, chunks);
    wait_for_earlier();
    if (worker.has(unit)) worker.bring(unit);
    commit_copies();
    wait_for_copies<1>();
    if constexpr (!C::kPairs) round_weights<C>(at, chunks);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // products see what copies brought
    __syncthreads();
  }
  worker.run(unit, int64_t{gridDim.x / p.column_groups} * C::kGroups);
#endif
}

// Describes y to the device, tiles of a line of rows or columns by kTileLines; false where it cannot be cut so.
template <class C>
bool describe_tiles(const GatedProduct& p, CUtensorMap& y) {
  using T = typename C::T;
  const auto driver = cuda_driver();
  if (!driver) return false;
  constexpr CUtensorMapDataType kType = sizeof(T) == 4            ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                        : std::is_same_v<T, BF16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                  : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto rows = static_cast<cuuint64_t>(p.rows), columns = static_cast<cuuint64_t>(p.columns);
  cuuint64_t sizes[3] = {columns, rows, 1}, steps[2] = {static_cast<cuuint64_t>(p.y_step) * sizeof(T), 0};
  if constexpr (C::kTransposed) {
    const auto batch_rows = static_cast<cuuint64_t>(p.batch_rows);
    if (!p.vectors || (rows != batch_rows && batch_rows % kUnitRows != 0)) return false;
    sizes[0] = batch_rows, sizes[1] = columns, sizes[2] = rows / batch_rows;
    steps[0] = static_cast<cuuint64_t>(p.y_channel) * sizeof(T);
    steps[1] = static_cast<cuuint64_t>(p.y_batch) * sizeof(T);
  }
  if (sizes[2] == 1) steps[1] = steps[0] * sizes[1];
  const cuuint32_t box[3] = {kLine / sizeof(T), C::kTileLines, 1}, every[3] = {1, 1, 1};
  return (*driver)->encode_tiled(&y, kType, 3, p.y, sizes, steps, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <class C>
void launch(GatedProduct p, cudaStream_t stream) {
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int chunks = static_cast<int>(ceil_div(p.columns, kChunk));
  p.column_groups = static_cast<int>(ceil_div(chunks, C::kMostChunks));
  p.chunks = static_cast<int>(ceil_div(chunks, p.column_groups));
  const int64_t blocks = ceil_div(p.rows, int64_t{kUnitRows} * C::kGroups);
  const int64_t at_once = std::clamp<int64_t>(processors / p.column_groups, 1, blocks);
  const size_t bytes = C::shared_bytes(p.chunks);
  Maps maps{};
  p.tiles = describe_tiles<C>(p, maps.y);
  if constexpr (C::kBoxes)
    if (!describe_boxes<C>(p, maps))
      return note_launch_error("describing a gated product's operands for tensor copies");
  cudaFuncSetAttribute(gated_product<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  launch_early({dim3(static_cast<unsigned>(at_once * p.column_groups)), C::kThreads, bytes, stream}, gated_product<C>,
               p, maps);
}

template <class T, int kDepth, bool kPairs, bool kSigmoid>
void launch_depth(const GatedProduct& p, const Form& form, cudaStream_t stream) {
  constexpr int kGroups = sizeof(T) == 4 ? 2 : 4;
  if (form.two_sources) {
    if (form.channels_first) return launch<Tile<T, kDepth, kGroups, true, true, false, kPairs, kSigmoid>>(p, stream);
    return launch<Tile<T, kDepth, kGroups, true, false, false, kPairs, kSigmoid>>(p, stream);
  }
  if (form.transposed) return launch<Tile<T, kDepth, kGroups, false, false, true, kPairs, kSigmoid>>(p, stream);
  launch<Tile<T, kDepth, kGroups, false, false, false, kPairs, kSigmoid>>(p, stream);
}

template <class T, bool kPairs, bool kSigmoid>
void launch_activation(const GatedProduct& p, const Form& form, cudaStream_t stream) {
  if (form.depth == 64) return launch_depth<T, 64, kPairs, kSigmoid>(p, form, stream);
  launch_depth<T, 128, kPairs, kSigmoid>(p, form, stream);
}

template <class T, bool kPairs = false>
void launch_type(const GatedProduct& p, const Form& form, void* stream) {
  const auto to = static_cast<cudaStream_t>(stream);
  if constexpr (sizeof(T) == 2)
    if (p.activation == ops::Activation::kSigmoid) return launch_activation<T, kPairs, true>(p, form, to);
  launch_activation<T, kPairs, false>(p, form, to);
}

}  // namespace plica::cuda::gated
