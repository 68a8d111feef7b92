#include "tests/harness/op_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "ops/evaluate.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "tests/harness/agreement.h"
#include "tests/harness/counted_malloc.h"
#include "tests/harness/cuda_mirror.h"

namespace plica {
namespace {

constexpr const char* kCudaOnly = "PLICA_TEST_CUDA";
constexpr const char* kOnce = "PLICA_TEST_ONCE";

struct Count {
  int ran = 0, strided = 0, declined = 0;
  std::string why;
};

// A case in one dtype: its inputs, their twins in f64, what the reference makes of them.
struct Trial {
  std::vector<OperandSpec> specs;
  std::vector<DType> dtypes;
  std::vector<std::vector<double>> values;
  std::vector<Tensor> wanted;
};

std::vector<std::unique_ptr<OperandMemory>> memories(const Trial& trial, bool widened) {
  std::vector<std::unique_ptr<OperandMemory>> all;
  for (size_t i = 0; i < trial.specs.size(); ++i) {
    if (trial.specs[i].absent) {
      all.push_back(nullptr);
      continue;
    }
    const bool twin = widened && !trial.specs[i].dtype && is_float(trial.dtypes[i]);
    all.push_back(
        std::make_unique<OperandMemory>(trial.specs[i], twin ? DType::kF64 : trial.dtypes[i], trial.values[i]));
  }
  return all;
}

std::vector<TensorView> views(const std::vector<std::unique_ptr<OperandMemory>>& memories) {
  std::vector<TensorView> all;
  for (const auto& memory : memories) all.push_back(memory ? memory->view() : TensorView{});
  return all;
}

Result<Trial> make_trial(const OpDef& op, const OpTable& table, const OpCase& c, DType dtype) {
  Trial trial{c.in, {}, {}, {}};
  if (!op.variadic()) trial.specs.resize(op.inputs.size(), OperandSpec{.absent = true});
  for (size_t i = 0; i < trial.specs.size(); ++i) {
    trial.dtypes.push_back(trial.specs[i].dtype.value_or(dtype));
    trial.values.push_back(values_of(trial.specs[i], trial.dtypes[i], i + 1));
  }
  PLICA_TRY(trial.wanted, evaluate(op, c.attrs, views(memories(trial, table.judged_in_f64))));
  return trial;
}

int64_t alignment(const void* data) {
  const auto address = reinterpret_cast<intptr_t>(data);
  return std::min<int64_t>(64, address & -address);
}

// One kernel on one trial with fresh memory.
class KernelRun {
 public:
  KernelRun(const OpDef& op, const OpCase& c, const Trial& trial, const DeviceTraits& device,
            Layout out_layout = Layout::kDense)
      : attrs_(c.attrs), inputs_(memories(trial, false)), in_(views(inputs_)) {
    std::vector<const TensorType*> types;
    for (const TensorView& x : in_) types.push_back(x.data ? &x.type : nullptr);
    Result<Types> results = infer_types(op, attrs_, types);
    if (results) out_types_ = *std::move(results);
    for (TensorType& type : out_types_) type.strides = strides_of(type.shape, out_layout);
    case_.device = device;
    case_.precision = c.precision;
    for (size_t i = 0; i < in_.size(); ++i) {
      operands_.push_back({types[i], nullptr, alignment(in_[i].data)});
      if (types[i] && trial.specs[i].constant)
        operands_[i].constant =
            std::make_shared<const Constant>(Constant{in_[i].type, in_[i].data, nullptr, "w" + std::to_string(i)});
    }
    for (const TensorType& type : out_types_) operands_.push_back({&type, nullptr, 64});
    case_.in = std::span(operands_).first(in_.size());
    case_.out = std::span(operands_).subspan(in_.size());
  }

  const char* declines(const Kernel& kernel) const {
    return kernel.declines ? kernel.declines(attrs_.get(), case_) : nullptr;
  }
  bool takes_in_place(size_t i) const { return in_[i].data != nullptr && in_[i].type == out_types_[0]; }
  bool has_strided_results() const {
    return std::ranges::any_of(out_types_, [](const TensorType& type) { return !type.strides.empty(); });
  }
  int64_t num_allocations() const { return num_allocations_; }  // of the last run's kernel, on the CPU

  // `in_place`: the input whose memory the first result shares, or -1.
  void run(const Kernel& kernel, int in_place = -1) {
    for (const TensorType& type : out_types_) outputs_.push_back(std::make_unique<GuardedMemory>(num_bytes(type)));
    out_.clear();
    for (size_t i = 0; i < out_types_.size(); ++i) out_.push_back({out_types_[i], outputs_[i]->data()});
    if (in_place >= 0) out_[0].data = in_[static_cast<size_t>(in_place)].data;
    GuardedMemory scratch(kernel.scratch_bytes ? kernel.scratch_bytes(attrs_.get(), case_) : 0);
    KernelState state;
    if (kernel.prepare) {
      Result<KernelState> prepared = kernel.prepare(attrs_.get(), case_, constants_);
      ASSERT_TRUE(prepared) << to_string(prepared.error());
      state = *std::move(prepared);
    }
    Fault fault;
    const KernelArgs args{in_, out_, scratch.data(), nullptr, state.get(), &fault, case_.device.num_threads};
    if (case_.device.device == Device::kCuda) return run_on_cuda(kernel, args, scratch, in_place);
    const int64_t before = plica::num_allocations();
    kernel.run(attrs_.get(), args);
    num_allocations_ = plica::num_allocations() - before;
    expect_kept_within(fault, scratch);
  }

  const std::vector<TensorView>& out() const { return out_; }

 private:
  void expect_kept_within(const Fault& fault, const GuardedMemory& scratch) const {
    EXPECT_EQ(fault.what, nullptr) << fault.what << " " << fault.found;
    EXPECT_TRUE(scratch.guards_are_whole()) << "wrote outside its scratch";
    for (const auto& output : outputs_) EXPECT_TRUE(output->guards_are_whole()) << "wrote outside its output";
  }

  // On copies of all buffers, guards and all, which come back here to be judged.
  void run_on_cuda(const Kernel& kernel, const KernelArgs& args, GuardedMemory& scratch, int in_place) {
    CudaMirror mirror;
    std::vector<TensorView> in = in_, out = out_;
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i].data != nullptr) in[i].data = mirror.add(inputs_[i]->memory().whole(), in[i].data);
    for (size_t i = 0; i < out.size(); ++i) out[i].data = mirror.add(outputs_[i]->whole(), outputs_[i]->data());
    if (in_place >= 0) out[0].data = in[static_cast<size_t>(in_place)].data;
    KernelArgs there = args;
    there.in = in;
    there.out = out;
    there.scratch = mirror.add(scratch.whole(), scratch.data());
    there.fault = static_cast<Fault*>(mirror.add(std::as_writable_bytes(std::span(args.fault, 1)), args.fault));
    const std::string wrong = mirror.run([&](void* stream) {
      there.stream = stream;
      kernel.run(attrs_.get(), there);
    });
    EXPECT_EQ(wrong, "");
    expect_kept_within(*args.fault, scratch);
  }

  const Attrs& attrs_;
  std::vector<std::unique_ptr<OperandMemory>> inputs_;
  std::vector<TensorView> in_, out_;
  Types out_types_;
  std::vector<Operand> operands_;
  Case case_;
  ConstantStore constants_;
  std::vector<std::unique_ptr<GuardedMemory>> outputs_;
  int64_t num_allocations_ = 0;
};

void expect_results(const KernelRun& run, const Trial& trial, const OpCase& c) {
  for (size_t i = 0; i < trial.wanted.size(); ++i) {
    const auto wrong = disagreement(run.out()[i], trial.wanted[i].view(), c.tolerance);
    EXPECT_FALSE(wrong) << "result " << i << ": " << *wrong;
  }
}

void expect_same_bits(const Trial& trial, const KernelRun& first, const KernelRun& second) {
  for (size_t i = 0; i < trial.wanted.size(); ++i)
    EXPECT_EQ(std::memcmp(first.out()[i].data, second.out()[i].data, num_bytes(first.out()[i].type)), 0)
        << "the second run gives other bits";
  EXPECT_EQ(second.num_allocations(), 0) << "the second run allocates";
}

void expect_kernel_agrees(const OpDef& op, const Kernel& kernel, const Trial& trial, const OpCase& c,
                          const DeviceTraits& device, Count& count) {
  KernelRun first(op, c, trial, device);
  if (const char* why = first.declines(kernel)) {
    count.declined += 1;
    if (count.why.empty()) count.why = why;
    return;
  }
  first.run(kernel);
  expect_results(first, trial, c);
  count.ran += 1;
  const bool once = std::getenv(kOnce) != nullptr;
  if (!once) {
    KernelRun second(op, c, trial, device);
    second.run(kernel);
    expect_same_bits(trial, first, second);
  }
  for (const Layout layout : {Layout::kTransposed, Layout::kHeads}) {
    KernelRun strided(op, c, trial, device, layout);
    if (!strided.has_strided_results() || strided.declines(kernel) != nullptr) continue;
    const testing::ScopedTrace where(__FILE__, __LINE__, "results by strides");
    strided.run(kernel);
    expect_results(strided, trial, c);
    count.strided += 1;
    if (once) break;
  }
  for (size_t i = 0; i < trial.specs.size() && i < 32; ++i) {
    if (!(kernel.in_place >> i & 1)) continue;
    KernelRun shared(op, c, trial, device);
    if (!shared.takes_in_place(i)) continue;
    const testing::ScopedTrace where(__FILE__, __LINE__, "in place of input " + std::to_string(i));
    shared.run(kernel, static_cast<int>(i));
    expect_results(shared, trial, c);
    if (once) break;
  }
}

struct Backend {
  std::string name;
  DeviceTraits device;
};

// Those that can run here and are wanted.
std::vector<Backend> backends() {
  std::vector<Backend> all;
  for (int num_threads : {1, 3})
    if (std::getenv(kCudaOnly) == nullptr)
      all.push_back({"cpu, " + std::to_string(num_threads) + " threads", {.num_threads = num_threads}});
  if (cuda_unavailable().empty()) all.push_back({"cuda", cuda_device_traits()});
  return all;
}

void report(const OpTable& table, const Backend& backend, const std::map<std::string_view, Count>& counts) {
  for (const auto& [kernel, count] : counts) {
    std::cout << "[  kernel  ] " << table.op << " " << kernel << " (" << backend.name << "): " << count.ran << " ran, "
              << count.strided << " with strided results";
    if (count.declined > 0) std::cout << ", " << count.declined << " declined: " << count.why;
    std::cout << "\n";
    if (!table.every_kernel) continue;
    EXPECT_GT(count.ran, 0) << table.op << ": no case of the table runs the kernel '" << kernel << "'";
  }
}

void expect_backend_agrees(const OpDef& op, const OpTable& table, const Backend& backend) {
  const testing::ScopedTrace on(__FILE__, __LINE__, backend.name);
  const Kernels all = kernels(op, backend.device.device);
  std::map<std::string_view, Count> counts;
  for (const OpCase& c : table.cases) {
    for (DType dtype : c.dtypes) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, c.name + " " + std::string(name_of(dtype)));
      Result<Trial> trial = make_trial(op, table, c, dtype);
      if (!trial) {
        ADD_FAILURE() << to_string(trial.error());
        continue;
      }
      for (const Kernel& kernel : all) {
        const testing::ScopedTrace where(__FILE__, __LINE__, "kernel " + std::string(kernel.name));
        expect_kernel_agrees(op, kernel, *trial, c, backend.device, counts[kernel.name]);
      }
    }
  }
  report(table, backend, counts);
}

}  // namespace

void expect_kernels_agree(const OpTable& table) {
  const OpDef* op = find_op(table.op);
  ASSERT_NE(op, nullptr) << table.op;
  const Kernels on_cpu = kernels(*op, Device::kCpu);
  ASSERT_FALSE(on_cpu.empty());
  EXPECT_EQ(on_cpu.back().name, "ref");
  for (const Backend& backend : backends()) expect_backend_agrees(*op, table, backend);
  if (const std::string why = cuda_unavailable(); !why.empty()) {
    std::cout << "[  kernel  ] " << table.op << " (cuda): did not run: " << why << "\n";
    EXPECT_EQ(std::getenv(kCudaOnly), nullptr) << kCudaOnly << " wants kernels for CUDA";
  }
}

}  // namespace plica
