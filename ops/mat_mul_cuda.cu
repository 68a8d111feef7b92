#include "ops/cuda/layout.cuh"
#include "ops/cuda/product.h"
#include "ops/cuda/product_clusters.h"
#include "ops/cuda/product_fma.h"
#include "ops/cuda/product_parts.h"
#include "ops/cuda/product_split.h"
#include "ops/cuda/product_thin.h"
#include "ops/cuda/product_tile.h"
#include "ops/cuda/product_wgmma.h"
#include "ops/cuda/product_wgmma_tiles.h"
#include "ops/mat_mul.h"
#include "ops/op.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

using cuda::FinishProduct;
using cuda::Product;
using cuda::ProductEpilogue;
using cuda::ReadyProduct;
using ops::Activation;

// A product by cuBLASLt, and what of the epilogue comes after it.
struct State {
  std::shared_ptr<const ReadyProduct> product;
  FinishProduct finish;
  ProductEpilogue own;
};

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

// What cuBLASLt adds by itself, where it knows how; the rest of the epilogue is left to `finish`.
State share_epilogue(const ops::MatMul& op, const Case& c, bool native) {
  State state;
  const bool bias = c.has(2), gate = c.has(3), residual = c.has(4);
  const bool is_f64 = c.out[0].type->dtype == DType::kF64;
  const bool plain = op.activation == Activation::kNone;
  const bool known = plain || op.activation == Activation::kRelu || op.activation == Activation::kGeluTanh;
  const bool own_bias = native && bias && known && !is_f64 && strides_in(*c.in[2].type, 1)[0] == 1;
  const bool own_activation = native && known && !is_f64 && (own_bias || !bias);
  Product unused;
  const bool own_residual =
      native && residual && plain && !gate && (own_bias || !bias) && cuda::make_product(c, true, unused) == nullptr;
  state.own = {own_bias, own_residual, own_activation ? op.activation : Activation::kNone};
  state.finish = {bias && !own_bias, gate, op.gate_sigmoid, residual && !own_residual,
                  own_activation ? Activation::kNone : op.activation};
  return state;
}

Result<State> make_state(const ops::MatMul& op, const Case& c, bool tf32) {
  ReadyProduct::Options options;
  options.dtype = c.out[0].type->dtype;
  options.tf32 = tf32;
  options.alpha = op.alpha;
  cudaGetDevice(&options.ordinal);  // whoever plans has made the device the current one
  options.alignment_bytes = {c.in[0].alignment_bytes, c.in[1].alignment_bytes, c.out[0].alignment_bytes,
                             c.has(4) ? c.in[4].alignment_bytes : 16};
  for (const bool native : {true, false}) {  // there are epilogues that no algorithm has for a case
    State state = share_epilogue(op, c, native);
    options.epilogue = state.own;
    Product product;
    if (const char* why = cuda::make_product(c, state.own.residual, product)) return Error(Code::kUnsupported, why);
    auto ready = ReadyProduct::make(product, options);
    if (!ready && native && ready.error().code() != Code::kDeviceError) continue;
    if (!ready) return ready.take_error();
    state.product = *std::move(ready);
    return state;
  }
  return Error(Code::kUnsupported, "cuBLASLt has no algorithm for a product");
}

const char* declines_any(const ops::MatMul& op, const Case& c) {
  const DType dtype = c.out[0].type->dtype;
  if (!is_float(dtype)) return "cuBLASLt takes no integers";
  Product product;
  if (const char* why = cuda::make_product(c, false, product)) return why;
  if (const char* why = cuda::finish_product_declines(c)) return why;
  if (dtype == DType::kF64 && share_epilogue(op, c, true).finish.any()) return "an epilogue in f64";
  return nullptr;
}

bool wants_tf32x3(const Case& c) { return c.precision == Precision::kTf32x3 && c.out[0].type->dtype == DType::kF32; }

bool is_tf32(const Case& c) { return c.precision == Precision::kTf32 && c.out[0].type->dtype == DType::kF32; }

// Whether three products in tf32, and the passes that split both matrices, take less time than one in fp32: by rates of
// an H200. Either is as accurate.
bool splitting_pays(const Case& c) {
  const auto elements = [](const TensorType& type) {
    double count = 1;
    for (int64_t size : type.shape) count *= static_cast<double>(size);
    return count;
  };
  constexpr double kFp32Flops = 45e12, kTf32Flops = 300e12, kBytesPerSecond = 3.5e12, kLaunches = 2e-6;
  constexpr double kBytesPerElement = 4 * (1 + 3 + 3);  // read, written thrice, read thrice
  const TensorType &a = *c.in[0].type, &b = *c.in[1].type;
  const double flops = 2 * elements(*c.out[0].type) * static_cast<double>(a.shape.back());
  const double split = (elements(a) + elements(b)) * kBytesPerElement / kBytesPerSecond + 3 * flops / kTf32Flops;
  return split + kLaunches < flops / kFp32Flops;
}

const char* declines_cublaslt(const ops::MatMul& op, const Case& c) {
  if (wants_tf32x3(c) && splitting_pays(c)) return "tf32x3 is asked for, and pays";
  if (const char* why = declines_any(op, c)) return why;
  return make_state(op, c, is_tf32(c)) ? nullptr : "cuBLASLt has no algorithm for it, or is not there";
}

size_t scratch_cublaslt(const ops::MatMul& op, const Case& c) {
  const auto state = make_state(op, c, is_tf32(c));
  return state ? state->product->workspace_bytes() : 0;
}

// Whether a pass behind the product does part of the epilogue.
bool leaves_a_pass(const ops::MatMul& op, const Case& c) {
  const auto state = make_state(op, c, is_tf32(c));
  return state && state->finish.any();
}

const char* declines_whole(const ops::MatMul& op, const Case& c) {
  if (const char* why = declines_cublaslt(op, c)) return why;
  return leaves_a_pass(op, c) ? "cuBLASLt does not know the whole epilogue" : nullptr;
}

Result<KernelState> prepare_cublaslt(const ops::MatMul& op, const Case& c, ConstantStore&) {
  PLICA_TRY(State state, make_state(op, c, is_tf32(c)));
  return KernelState(std::make_shared<const State>(std::move(state)));
}

void queue(const State& state, const KernelArgs& args, ReadyProduct::Pointers pointers) {
  if (state.own.bias) pointers.bias = args.in[2].data;
  if (state.own.residual) pointers.residual = args.in[4].data;
  pointers.y = args.out[0].data;
  state.product->run(pointers, args.stream);
  if (state.finish.any()) cuda::finish_product(state.finish, args);
}

void run_cublaslt(const ops::MatMul&, const KernelArgs& args) {
  queue(*static_cast<const State*>(args.state), args,
        {args.in[0].data, args.in[1].data, nullptr, nullptr, nullptr, args.scratch});
}

// The three parts of both matrices, dense, one behind the other along K: scratch holds them behind the workspace.
struct Parts {
  TensorType a, b;
  size_t a_bytes = 0, b_bytes = 0;
};

Parts parts_of(const TensorType& a, const TensorType& b) {
  Parts parts{{a.dtype, a.shape, {}}, {b.dtype, b.shape, {}}, 0, 0};
  parts.a.shape.back() *= 3;
  parts.b.shape.end()[-2] *= 3;
  const auto bytes = [](const TensorType& type) {
    size_t elements = 1;
    for (int64_t size : type.shape) elements *= static_cast<size_t>(size);
    return aligned(elements * sizeof(float));
  };
  parts.a_bytes = bytes(parts.a);
  parts.b_bytes = bytes(parts.b);
  return parts;
}

Result<State> make_split_state(const ops::MatMul& op, const Case& c, Parts& parts) {
  parts = parts_of(*c.in[0].type, *c.in[1].type);
  std::vector<Operand> in(c.in.begin(), c.in.end());
  in[0] = {&parts.a, nullptr, 256};
  in[1] = {&parts.b, nullptr, 256};
  Case split = c;
  split.in = in;
  return make_state(op, split, true);
}

const char* declines_split(const ops::MatMul& op, const Case& c) {
  if (!wants_tf32x3(c)) return "tf32x3 is not asked for";
  if (const char* why = declines_any(op, c)) return why;
  Parts parts;
  return make_split_state(op, c, parts) ? nullptr : "cuBLASLt has no algorithm for it, or is not there";
}

size_t scratch_split(const ops::MatMul& op, const Case& c) {
  Parts parts;
  const auto state = make_split_state(op, c, parts);
  return state ? aligned(state->product->workspace_bytes()) + parts.a_bytes + parts.b_bytes : 0;
}

Result<KernelState> prepare_split(const ops::MatMul& op, const Case& c, ConstantStore&) {
  Parts parts;
  PLICA_TRY(State state, make_split_state(op, c, parts));
  return KernelState(std::make_shared<const State>(std::move(state)));
}

// Row-major strides of x with one axis three times as long.
AxisStrides part_strides(const Shape& shape, size_t long_axis) {
  AxisStrides strides{};
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0; step *= shape[i] * (i == long_axis ? 3 : 1)) strides[i] = step;
  return strides;
}

// a = a_high + a_low, b likewise, in tf32: y = a_low b_high + a_high b_low + a_high b_high as one product with 3 K.
void run_split(const ops::MatMul&, const KernelArgs& args) {
  const State& state = *static_cast<const State*>(args.state);
  const TensorView &a = args.in[0], &b = args.in[1];
  const size_t a_rank = a.type.shape.size(), b_rank = b.type.shape.size();
  auto* scratch = static_cast<std::byte*>(args.scratch);
  auto* a_parts = reinterpret_cast<float*>(scratch + aligned(state.product->workspace_bytes()));
  size_t a_elements = 3;
  for (int64_t size : a.type.shape) a_elements *= static_cast<size_t>(size);
  auto* b_parts = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(a_parts) + aligned(a_elements * sizeof(float)));
  cuda::split_tf32({true, part_strides(a.type.shape, a_rank - 1), a.type.shape.back()}, a, a_parts, args.stream);
  cuda::split_tf32({false, part_strides(b.type.shape, b_rank - 2), b.type.shape.back() * b.type.shape.end()[-2]}, b,
                   b_parts, args.stream);
  queue(state, args, {a_parts, b_parts, nullptr, nullptr, nullptr, scratch});
}

constexpr Kernel kKernels[] = {
    {.name = "thin",
     .declines = As<ops::MatMul>::fn<cuda::product_thin_declines>,
     .run = As<ops::MatMul>::fn<cuda::run_product_thin>},
    {.name = "fma",
     .declines = As<ops::MatMul>::fn<cuda::product_fma_declines>,
     .prepare = As<ops::MatMul>::fn<cuda::product_fma_prepare>,
     .run = As<ops::MatMul>::fn<cuda::run_product_fma>},
    {.name = "wgmma",
     .declines = As<ops::MatMul>::fn<cuda::product_wgmma_declines>,
     .prepare = As<ops::MatMul>::fn<cuda::product_wgmma_prepare>,
     .run = As<ops::MatMul>::fn<cuda::run_product_wgmma>,
     .in_place = 1u << 4},
    {.name = "wgmma_clusters",
     .declines = As<ops::MatMul>::fn<cuda::product_clusters_declines>,
     .prepare = As<ops::MatMul>::fn<cuda::product_clusters_prepare>,
     .run = As<ops::MatMul>::fn<cuda::run_product_clusters>,
     .in_place = 1u << 4},
    {.name = "wgmma_tiles",
     .declines = As<ops::MatMul>::fn<cuda::product_wgmma_tiles_declines>,
     .prepare = As<ops::MatMul>::fn<cuda::product_wgmma_tiles_prepare>,
     .run = As<ops::MatMul>::fn<cuda::run_product_wgmma_tiles>},
    {.name = "wgmma_split",
     .declines = As<ops::MatMul>::fn<cuda::product_split_declines>,
     .prepare = As<ops::MatMul>::fn<cuda::product_split_prepare>,
     .run = As<ops::MatMul>::fn<cuda::run_product_split>},
    {.name = "cublaslt",
     .declines = As<ops::MatMul>::fn<declines_whole>,
     .scratch_bytes = As<ops::MatMul>::fn<scratch_cublaslt>,
     .prepare = As<ops::MatMul>::fn<prepare_cublaslt>,
     .run = As<ops::MatMul>::fn<run_cublaslt>,
     .in_place = 1u << 4},
    {.name = "cublaslt_pass",
     .declines = As<ops::MatMul>::fn<declines_cublaslt>,
     .scratch_bytes = As<ops::MatMul>::fn<scratch_cublaslt>,
     .prepare = As<ops::MatMul>::fn<prepare_cublaslt>,
     .run = As<ops::MatMul>::fn<run_cublaslt>},
    {.name = "split_tf32",
     .declines = As<ops::MatMul>::fn<declines_split>,
     .scratch_bytes = As<ops::MatMul>::fn<scratch_split>,
     .prepare = As<ops::MatMul>::fn<prepare_split>,
     .run = As<ops::MatMul>::fn<run_split>},
    {.name = "tile",
     .declines = As<ops::MatMul>::fn<cuda::rank_over_8<ops::MatMul>>,
     .run = As<ops::MatMul>::fn<cuda::run_product_tile>},
};

}  // namespace

constinit const Kernels mat_mul_cuda_kernels = kKernels;

}  // namespace plica
