// Times kernels of the CUDA tables on production sizes, inputs and outputs resident, buffers rotated over twice the L2:
//   plica_cuda_op_bench [OP [KERNEL]] > rows.jsonl
// OP: one operator alone; KERNEL: by this kernel alone. A row is a case: kernel, time of one launch inside a CUDA graph, GB/s of its cost and
// the share of the copy rate, TFLOP/s and the share of the rate that dense products of its precision reach on an H200.

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/attention.h"
#include "ops/copy.h"
#include "ops/cuda/launch.cuh"
#include "ops/layer_norm.h"
#include "ops/map.h"
#include "ops/mat_mul.h"
#include "ops/outer_product_mean.h"
#include "ops/reduce.h"
#include "ops/rms_norm.h"
#include "ops/softmax.h"
#include "runtime/core/shape.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_graph.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_status.h"
#include "runtime/device/cuda_stream.h"

namespace plica {
namespace {

struct BenchCase {
  const char* op;
  const char* name;
  Attrs attrs;
  std::vector<TensorType> in;  // of no dtype where absent: shape {-1}
  Precision precision = Precision::kF32;
};

__global__ void fill(uint16_t* to, int64_t count, bool halves) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i >= count) return;
  const auto hash = static_cast<uint32_t>(i * 2654435761u) ^ static_cast<uint32_t>(i >> 7);
  // The upper half of an fp32, or a bf16, in about [-1, 1]; any lower half will do.
  const uint32_t exponent = 118 + (hash >> 8) % 9;
  const bool upper = halves || i % 2 == 1;
  to[i] = static_cast<uint16_t>(upper ? (hash & 0x8000) | exponent << 7 | (hash & 0x7f) : hash);
}

bool is_absent(const TensorType& type) { return type.shape.size() == 1 && type.shape[0] < 0; }

double dense_tflops(const BenchCase& c) {
  switch (c.precision) {
    case Precision::kTf32: return 395;
    case Precision::kTf32x3: return 130;
    case Precision::kBf16:
    case Precision::kF16: return 790;
    default: return 60;
  }
}

int64_t extent(const TensorType& type) {
  if (type.strides.empty()) return num_elements(type.shape);
  int64_t last = 1;
  for (size_t i = 0; i < type.shape.size(); ++i) last += (type.shape[i] - 1) * type.strides[i];
  return last;
}

struct Buffers {
  std::vector<std::shared_ptr<void>> owners;
  std::vector<TensorView> in, out;
  std::shared_ptr<void> scratch;
};

Result<TensorView> allocate(const TensorType& type, cudaStream_t stream, Buffers& buffers) {
  const auto bytes = static_cast<size_t>(extent(type)) * size_of(type.dtype);
  PLICA_TRY(std::shared_ptr<void> memory, device_memory(bytes));
  const auto halves = static_cast<int64_t>(bytes / 2);
  if (halves > 0)
    fill<<<cuda::blocks_for(halves, 256), 256, 0, stream>>>(static_cast<uint16_t*>(memory.get()), halves,
                                                            type.dtype == DType::kBF16);
  buffers.owners.push_back(memory);
  return TensorView{type, memory.get()};
}

class Bench {
 public:
  // `op`, `kernel`: names, or empty for all.
  static Result<int> run(std::string_view op, std::string_view kernel) {
    PLICA_TRY(CudaStream stream, CudaStream::make());
    PLICA_TRY(const DeviceTraits traits, cuda_traits(0));
    Bench bench(std::move(stream), traits);
    bench.op_ = op;
    bench.kernel_ = kernel;
    return bench.all();
  }

 private:
  Bench(CudaStream stream, const DeviceTraits& traits) : stream_(std::move(stream)), traits_(traits) {}

  Result<int> all();

  Status one(const BenchCase& c) {
    const OpDef& op = *find_op(c.op);
    std::vector<const TensorType*> types;
    for (const TensorType& type : c.in) types.push_back(is_absent(type) ? nullptr : &type);
    if (!op.variadic()) types.resize(op.inputs.size(), nullptr);
    PLICA_TRY(const Types results, infer_types(op, c.attrs, types));
    std::vector<Operand> in, out;
    for (const TensorType* type : types) in.push_back({type, nullptr, 256});
    for (const TensorType& type : results) out.push_back({&type, nullptr, 256});
    const Case shape{in, out, traits_, c.precision};
    for (const Kernel& kernel : kernels(op, Device::kCuda)) {
      if (!kernel_.empty() && kernel_ != kernel.name) continue;
      if (kernel.declines != nullptr && kernel.declines(c.attrs.get(), shape) != nullptr) continue;
      const Cost cost = op.cost ? op.cost(c.attrs.get(), shape) : Cost{};
      PLICA_TRY(const double us, time(kernel, c, shape));
      double bytes = cost.bytes;
      if (bytes == 0)
        for (const TensorType* type : {types[0], &results[0]}) bytes += static_cast<double>(num_bytes(*type));
      std::printf(
          "{\"op\": \"%s\", \"case\": \"%s\", \"kernel\": \"%.*s\", \"us\": %.2f, \"gb_per_s\": %.0f, "
          "\"copy_share\": %.2f, \"tflop_per_s\": %.1f, \"dense_share\": %.3f}\n",
          c.op, c.name, static_cast<int>(kernel.name.size()), kernel.name.data(), us, bytes / us / 1e3,
          copy_rate_ > 0 ? bytes / us / 1e3 / copy_rate_ : 0, cost.flops / us / 1e6,
          cost.flops / us / 1e6 / dense_tflops(c));
      std::fflush(stdout);
      return {};
    }
    return Error(Code::kUnsupported, std::string(c.name) + ": every kernel declines");
  }

  Result<Buffers> make_buffers(const Kernel& kernel, const BenchCase& c, const Case& shape) {
    Buffers buffers;
    for (const Operand& operand : shape.in) {
      buffers.in.emplace_back();
      if (operand.type != nullptr) {
        PLICA_TRY(buffers.in.back(), allocate(*operand.type, stream_.get(), buffers));
      }
    }
    for (const Operand& operand : shape.out) {
      PLICA_TRY(TensorView y, allocate(*operand.type, stream_.get(), buffers));
      buffers.out.push_back(y);
    }
    PLICA_TRY(buffers.scratch, device_memory(kernel.scratch_bytes ? kernel.scratch_bytes(c.attrs.get(), shape) : 0));
    return buffers;
  }

  // The median of 7 replays of a graph of launches, over as many sets of buffers as exceed twice the L2.
  Result<double> time(const Kernel& kernel, const BenchCase& c, const Case& shape) {
    constexpr size_t kTwiceL2 = size_t{120} << 20;
    size_t set_bytes = 1;
    for (const Operand& operand : shape.in)
      if (operand.type != nullptr) set_bytes += num_bytes(*operand.type);
    for (const Operand& operand : shape.out) set_bytes += num_bytes(*operand.type);
    const size_t sets = std::min<size_t>(16, kTwiceL2 / set_bytes + 2);
    KernelState state;
    if (kernel.prepare) {
      PLICA_TRY(state, kernel.prepare(c.attrs.get(), shape, constants_));
    }
    PLICA_TRY(std::shared_ptr<void> fault, device_memory(sizeof(Fault)));
    PLICA_CHECK(cuda_status(cudaMemset(fault.get(), 0, sizeof(Fault)), "clearing the fault"));
    std::vector<Buffers> all;
    for (size_t i = 0; i < sets; ++i) {
      PLICA_TRY(Buffers buffers, make_buffers(kernel, c, shape));
      all.push_back(std::move(buffers));
    }
    const auto enqueue = [&](cudaStream_t stream, size_t i) {
      const Buffers& b = all[i % all.size()];
      kernel.run(c.attrs.get(),
                 {b.in, b.out, b.scratch.get(), stream, state.get(), static_cast<Fault*>(fault.get()), 1});
    };
    enqueue(stream_.get(), 0);
    PLICA_CHECK(stream_.synchronize());
    const size_t launches = std::max<size_t>(20, all.size());
    PLICA_TRY(const CudaGraph graph, CudaGraph::capture(stream_.get(), [&](cudaStream_t stream) {
                for (size_t i = 0; i < launches; ++i) enqueue(stream, i);
                return cuda_status(cudaGetLastError(), "launching");
              }));
    PLICA_TRY(CudaEvent start, CudaEvent::make(true));
    PLICA_TRY(CudaEvent end, CudaEvent::make(true));
    std::vector<float> ms;
    for (int i = 0; i < 8; ++i) {
      PLICA_CHECK(start.record(stream_.get()));
      PLICA_CHECK(graph.launch(stream_.get()));
      PLICA_CHECK(end.record(stream_.get()));
      PLICA_CHECK(end.synchronize());
      PLICA_TRY(const float took, end.ms_since(start));
      if (i > 0) ms.push_back(took);
    }
    std::ranges::sort(ms);
    return ms[ms.size() / 2] * 1e3 / static_cast<double>(launches);
  }

  Status copy_rate() {
    constexpr size_t kBytes = size_t{1} << 30;
    PLICA_TRY(std::shared_ptr<void> from, device_memory(kBytes));
    PLICA_TRY(std::shared_ptr<void> to, device_memory(kBytes));
    PLICA_TRY(CudaEvent start, CudaEvent::make(true));
    PLICA_TRY(CudaEvent end, CudaEvent::make(true));
    for (int i = 0; i < 5; ++i) {
      PLICA_CHECK(start.record(stream_.get()));
      PLICA_CHECK(cuda_status(cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice, stream_.get()),
                              "copying"));
      PLICA_CHECK(end.record(stream_.get()));
      PLICA_CHECK(end.synchronize());
      PLICA_TRY(const float ms, end.ms_since(start));
      copy_rate_ = std::max(copy_rate_, 2.0 * kBytes / ms / 1e6);
    }
    std::printf("{\"op\": \"cudaMemcpy\", \"case\": \"1 GiB\", \"gb_per_s\": %.0f}\n", copy_rate_);
    return {};
  }

  CudaStream stream_;
  DeviceTraits traits_;
  ConstantStore constants_;
  double copy_rate_ = 0;
  std::string_view op_, kernel_;
};

ops::Map map(const char* text, DType dtype) {
  ops::Program program = *ops::Program::from_text(text);
  for (ops::Instruction& instruction : program.instructions) instruction.dtype = dtype;
  return {program};
}

TensorType type(DType dtype, Shape shape, Strides strides = {}) {
  return {dtype, std::move(shape), std::move(strides)};
}

void add_memory_bound(DType d, std::vector<BenchCase>& cases) {
  const bool half = d == DType::kBF16;
  const auto label = [&](const char* f32, const char* bf16) { return half ? bf16 : f32; };
  const Shape flat{1 << 26};
  cases.push_back({"Copy", label("dense f32 64M", "dense bf16 64M"), ops::Copy{}, {type(d, flat)}});
  cases.push_back({"Copy",
                   label("transposed f32 64x1024x1024", "transposed bf16 64x1024x1024"),
                   ops::Copy{},
                   {type(d, {64, 1024, 1024}, {1 << 20, 1, 1024})}});
  cases.push_back({"Copy",
                   label("rows exchanged f32 512x512x128", "rows exchanged bf16 512x512x128"),
                   ops::Copy{},
                   {type(d, {512, 512, 128}, {128, 65536, 1})}});
  const char* between = "Cast:bf16(Mul(Sigmoid(Add(Mul(Cast:f32(x0),Cast:f32(x1)),Cast:f32(x2))),Cast:f32(x3)))";
  const char* long_between =
      "Cast:bf16(Max(Add(Mul(Add(Mul(Max(Add(Mul(Sub(Neg(Cast:f32(x0)),0.5),1.5),0.25),0),0.5),0.125),2),0.5),0.1))";
  if (half)
    for (const auto& [name, text, inputs] : {std::tuple{"sigmoid(a*b+c)*d between casts", between, 4},
                                             std::tuple{"ten functions between casts", long_between, 1}})
      cases.push_back({"Map", name, ops::Map{*ops::Program::from_text(text)},
                       std::vector<TensorType>(static_cast<size_t>(inputs), type(d, flat))});
  const char* chain = "Max(Add(Mul(Add(Mul(Max(Add(Mul(Sub(Neg(x0),0.5),1.5),0.25),0),0.5),0.125),2),0.5),0.1)";
  cases.push_back({"Map", label("add f32", "add bf16"), map("Add(x0,x1)", d), {type(d, flat), type(d, flat)}});
  cases.push_back({"Map", label("gelu f32", "gelu bf16"), map("Gelu(x0)", d), {type(d, flat)}});
  cases.push_back({"Map",
                   label("bias gelu f32", "bias gelu bf16"),
                   map("Gelu(Add(x0,x1))", d),
                   {type(d, {1 << 16, 1024}), type(d, {1024})}});
  cases.push_back({"Map",
                   label("sigmoid(a*b+c)*d f32", "sigmoid(a*b+c)*d bf16"),
                   map("Mul(Sigmoid(Add(Mul(x0,x1),x2)),x3)", d),
                   {type(d, flat), type(d, flat), type(d, flat), type(d, flat)}});
  cases.push_back({"Map", label("ten functions f32", "ten functions bf16"), map(chain, d), {type(d, flat)}});
  cases.push_back({"Map",
                   label("odd rows f32 4001x257", "odd rows bf16 4001x257"),
                   map("Add(x0,x1)", d),
                   {type(d, {40001, 257}), type(d, {257})}});
  for (const int64_t width : {128, 256, 1280, 5120}) {
    const Shape rows{(1 << 25) / width, width};
    static const char* const kNames[2][4] = {{"f32 128", "f32 256", "f32 1280", "f32 5120"},
                                             {"bf16 128", "bf16 256", "bf16 1280", "bf16 5120"}};
    const char* name = kNames[half][width == 128 ? 0 : width == 256 ? 1 : width == 1280 ? 2 : 3];
    cases.push_back({"LayerNorm", name, ops::LayerNorm{}, {type(d, rows), type(d, {width}), type(d, {width})}});
    cases.push_back({"RmsNorm", name, ops::RmsNorm{}, {type(d, rows), type(d, {width})}});
    cases.push_back({"Softmax", name, ops::Softmax{}, {type(d, rows)}});
    cases.push_back({"Reduce", name, ops::Reduce{ops::ReduceKind::kMean, {1}, true}, {type(d, rows)}});
  }
  cases.push_back({"LayerNorm",
                   label("odd f32 131072x257", "odd bf16 131072x257"),
                   ops::LayerNorm{},
                   {type(d, {131072, 257}), type(d, {257}), type(d, {257})}});
  cases.push_back({"Reduce",
                   label("columns f32 8192x4096", "columns bf16 8192x4096"),
                   ops::Reduce{ops::ReduceKind::kSum, {0}, false},
                   {type(d, {8192, 4096})}});
  cases.push_back({"Reduce",
                   label("all f32 32M", "all bf16 32M"),
                   ops::Reduce{ops::ReduceKind::kSum, {0}, false},
                   {type(d, {1 << 25})}});
}

void add_products(std::vector<BenchCase>& cases) {
  struct Size {
    const char* name;
    int64_t m, n, k;
  };
  constexpr Size kSizes[] = {{"512x256x64", 512, 256, 64},         {"4096x192x64", 4096, 192, 64},
                             {"2048x64x1024", 2048, 64, 1024},     {"128x3840x1280", 128, 3840, 1280},
                             {"128x1280x5120", 128, 1280, 5120},   {"512x3840x1280", 512, 3840, 1280},
                             {"8192x5120x1280", 8192, 5120, 1280}, {"2048x4x64", 2048, 4, 64},
                             {"65536x4x128", 65536, 4, 128},       {"65536x8x128", 65536, 8, 128}};
  struct Mode {
    DType dtype;
    Precision precision;
    const char* suffix;
  };
  constexpr Mode kModes[] = {{DType::kF32, Precision::kF32, " fp32"},
                             {DType::kF32, Precision::kTf32, " tf32"},
                             {DType::kF32, Precision::kTf32x3, " tf32x3"},
                             {DType::kBF16, Precision::kBf16, " bf16"}};
  static std::vector<std::string> names;
  names.reserve(200);
  const TensorType absent{DType::kF32, {-1}, {}};
  for (const Size& s : kSizes)
    for (const Mode& mode : kModes) {
      const auto add = [&](const char* what, const ops::MatMul& op, bool bias, bool residual) {
        names.push_back(std::string(s.name) + mode.suffix + what);
        const DType d = mode.dtype;
        cases.push_back({"MatMul",
                         names.back().c_str(),
                         op,
                         {type(d, {s.m, s.k}), type(d, {s.k, s.n}), bias ? type(d, {s.n}) : absent, absent,
                          residual ? type(d, {s.m, s.n}) : absent},
                         mode.precision});
      };
      add("", ops::MatMul{}, false, false);
      if (s.m < 512 || s.n < 16) continue;
      add(" bias", ops::MatMul{}, true, false);
      add(" bias gelu", ops::MatMul{1, ops::Activation::kGelu, false}, true, false);
      add(" bias residual", ops::MatMul{}, true, true);
    }
}

void add_outer_products(std::vector<BenchCase>& cases) {
  struct Size {
    const char* name;
    int64_t batch, depth, rows, channels;
  };
  constexpr Size kSizes[] = {{"B2 S8 N32 32/64", 2, 8, 32, 64},
                             {"S128 N256 32/128", 1, 128, 256, 128},
                             {"S128 N257 32/128", 1, 128, 257, 128},
                             {"S512 N256 32/128", 1, 512, 256, 128}};
  struct Mode {
    DType dtype;
    Precision precision;
    const char* suffix;
  };
  constexpr Mode kModes[] = {{DType::kF32, Precision::kF32, " fp32"},
                             {DType::kF32, Precision::kTf32, " tf32"},
                             {DType::kF32, Precision::kTf32x3, " tf32x3"},
                             {DType::kBF16, Precision::kBf16, " bf16"},
                             {DType::kF16, Precision::kF16, " fp16"}};
  static std::vector<std::string> names;
  names.reserve(100);
  for (const Size& s : kSizes)
    for (const Mode& mode : kModes) {
      names.push_back(std::string(s.name) + mode.suffix);
      const DType d = mode.dtype;
      const TensorType side = type(d, {s.batch, s.depth, s.rows, 32});
      cases.push_back(
          {"OuterProductMean",
           names.back().c_str(),
           ops::OuterProductMean{},
           {side, side, type(d, {1024, s.channels}), type(d, {s.channels}), type(d, {s.batch, s.rows, s.rows, 1})},
           mode.precision});
    }
}

// Heads (.., H, N, D) that lie as (.., N, H, D), as projections leave them.
TensorType heads(DType dtype, Shape shape) {
  Strides strides(shape.size());
  const size_t last = shape.size() - 1;
  int64_t step = 1;
  for (const size_t axis : {last, last - 2, last - 1}) {
    strides[axis] = step;
    step *= shape[axis];
  }
  for (size_t axis = last - 2; axis-- > 0; step *= shape[axis]) strides[axis] = step;
  return {dtype, std::move(shape), std::move(strides)};
}

void add_attention(std::vector<BenchCase>& cases) {
  struct Size {
    const char* name;
    Shape shape;       // of q, k, v
    Shape bias, gate;  // empty: none
    Shape mask = {};
  };
  const Size sizes[] = {
      {"seed MSA row", {2, 8, 4, 32, 16}, {2, 1, 4, 32, 32}, {2, 8, 4, 32, 16}},
      {"seed axial", {128, 4, 32, 16}, {}, {}},
      {"MSA row S128 N256 h8 D32", {128, 8, 256, 32}, {8, 256, 256}, {128, 8, 256, 32}},
      {"axial B4 128x128 h8 D32", {512, 8, 128, 32}, {}, {}},
      {"triangle N256 h4 D32", {256, 4, 256, 32}, {4, 256, 256}, {256, 4, 256, 32}},
      {"triangle N257 h4 D32", {257, 4, 257, 32}, {4, 257, 257}, {257, 4, 257, 32}},
      {"triangle N512 h4 D32", {512, 4, 512, 32}, {4, 512, 512}, {512, 4, 512, 32}},
      {"ESM-2 650M B1 L512", {1, 20, 512, 64}, {}, {}},
      {"ESM-2 650M B32 L256", {32, 20, 256, 64}, {}, {}},
      {"ESM-2 8M B1 L128", {1, 20, 128, 16}, {}, {}},
      {"ESM-2 8M B1 L128, rows masked", {1, 20, 128, 16}, {}, {}, {1, 1, 128, 128}},
      {"ESM-2 8M B1 L128, keys masked", {1, 20, 128, 16}, {}, {}, {1, 1, 1, 128}},
      {"ESM-2 650M B32 L256, keys masked", {32, 20, 256, 64}, {}, {}, {32, 1, 1, 256}},
      {"triangle N512 h4 D32, keys masked", {512, 4, 512, 32}, {4, 512, 512}, {512, 4, 512, 32}, {512, 1, 1, 512}},
      {"L4096 h16 D128", {1, 16, 4096, 128}, {}, {}},
      {"B3 N257 D24", {771, 4, 257, 24}, {}, {}}};
  static std::vector<std::string> names;
  names.reserve(200);
  const TensorType absent{DType::kF32, {-1}, {}};
  for (const Size& s : sizes)
    for (const auto& [dtype, precision, suffix] : {std::tuple{DType::kF32, Precision::kF32, " fp32"},
                                                   {DType::kF32, Precision::kTf32, " tf32"},
                                                   {DType::kF32, Precision::kTf32x3, " tf32x3"},
                                                   {DType::kBF16, Precision::kBf16, " bf16"}}) {
      names.push_back(std::string(s.name) + suffix);
      const TensorType q = heads(dtype, s.shape);
      cases.push_back({"Attention",
                       names.back().c_str(),
                       ops::Attention{.scale = 1 / std::sqrt(static_cast<double>(s.shape.back()))},
                       {q, q, q, s.bias.empty() ? absent : type(dtype, s.bias),
                        s.mask.empty() ? absent : type(dtype, s.mask), s.gate.empty() ? absent : heads(dtype, s.gate)},
                       precision});
    }
}

Result<int> Bench::all() {
  PLICA_CHECK(copy_rate());
  std::vector<BenchCase> cases;
  add_memory_bound(DType::kF32, cases);
  add_memory_bound(DType::kBF16, cases);
  add_products(cases);
  add_outer_products(cases);
  add_attention(cases);
  int failed = 0;
  for (const BenchCase& c : cases) {
    if (!op_.empty() && op_ != c.op) continue;
    const Status status = one(c);
    if (status) continue;
    ++failed;
    std::printf("{\"op\": \"%s\", \"case\": \"%s\", \"error\": \"%s\"}\n", c.op, c.name, status.error().what().c_str());
  }
  return failed;
}

}  // namespace
}  // namespace plica

int main(int argc, char** argv) {
  const auto failed = plica::Bench::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (!failed) {
    std::fprintf(stderr, "%s\n", plica::to_string(failed.error()).c_str());
    return 2;
  }
  return *failed == 0 ? 0 : 1;
}
