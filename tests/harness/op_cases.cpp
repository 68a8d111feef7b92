#include "tests/harness/op_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>

#include "ops/evaluate.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "tests/harness/agreement.h"

namespace plica {
namespace {

struct Count {
  int ran = 0, declined = 0;
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
  KernelRun(const OpDef& op, const Attrs& attrs, const Trial& trial, int num_threads)
      : attrs_(attrs), inputs_(memories(trial, false)), in_(views(inputs_)) {
    std::vector<const TensorType*> types;
    for (const TensorView& x : in_) types.push_back(x.data ? &x.type : nullptr);
    Result<Types> results = infer_types(op, attrs, types);
    if (results) out_types_ = *std::move(results);
    case_.device.num_threads = num_threads;
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
    kernel.run(attrs_.get(), {in_, out_, scratch.data(), nullptr, state.get(), &fault, case_.device.num_threads});
    EXPECT_EQ(fault.what, nullptr) << fault.what << " " << fault.found;
    EXPECT_TRUE(scratch.guards_are_whole()) << "wrote outside its scratch";
    for (const auto& output : outputs_) EXPECT_TRUE(output->guards_are_whole()) << "wrote outside its output";
  }

  const std::vector<TensorView>& out() const { return out_; }

 private:
  const Attrs& attrs_;
  std::vector<std::unique_ptr<OperandMemory>> inputs_;
  std::vector<TensorView> in_, out_;
  Types out_types_;
  std::vector<Operand> operands_;
  Case case_;
  ConstantStore constants_;
  std::vector<std::unique_ptr<GuardedMemory>> outputs_;
};

void expect_results(const KernelRun& run, const Trial& trial, const OpCase& c) {
  for (size_t i = 0; i < trial.wanted.size(); ++i) {
    const auto wrong = disagreement(run.out()[i], trial.wanted[i].view(), c.tolerance);
    EXPECT_FALSE(wrong) << "result " << i << ": " << *wrong;
  }
}

void expect_kernel_agrees(const OpDef& op, const Kernel& kernel, const Trial& trial, const OpCase& c, Count& count) {
  for (int num_threads : {1, 3}) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(num_threads) + " threads");
    KernelRun first(op, c.attrs, trial, num_threads);
    if (const char* why = first.declines(kernel)) {
      count.declined += 1;
      if (count.why.empty()) count.why = why;
      return;
    }
    first.run(kernel);
    expect_results(first, trial, c);
    KernelRun second(op, c.attrs, trial, num_threads);
    second.run(kernel);
    for (size_t i = 0; i < trial.wanted.size(); ++i)
      EXPECT_EQ(std::memcmp(first.out()[i].data, second.out()[i].data, num_bytes(first.out()[i].type)), 0)
          << "the second run gives other bits";
    for (size_t i = 0; i < trial.specs.size() && i < 32; ++i) {
      if (!(kernel.in_place >> i & 1)) continue;
      KernelRun shared(op, c.attrs, trial, num_threads);
      if (!shared.takes_in_place(i)) continue;
      const testing::ScopedTrace where(__FILE__, __LINE__, "in place of input " + std::to_string(i));
      shared.run(kernel, static_cast<int>(i));
      expect_results(shared, trial, c);
    }
  }
  count.ran += 1;
}

void report(const OpTable& table, const std::map<std::string_view, Count>& counts) {
  for (const auto& [kernel, count] : counts) {
    std::cout << "[  kernel  ] " << table.op << " " << kernel << " (cpu): " << count.ran << " ran";
    if (count.declined > 0) std::cout << ", " << count.declined << " declined: " << count.why;
    std::cout << "\n";
    EXPECT_GT(count.ran, 0) << table.op << ": no case of the table runs the kernel '" << kernel << "'";
  }
}

}  // namespace

void expect_kernels_agree(const OpTable& table) {
  const OpDef* op = find_op(table.op);
  ASSERT_NE(op, nullptr) << table.op;
  const Kernels all = kernels(*op, Device::kCpu);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().name, "ref");
  std::map<std::string_view, Count> counts;
  for (const OpCase& c : table.cases) {
    for (DType dtype : c.dtypes) {
      const testing::ScopedTrace trace(__FILE__, __LINE__, c.name + " " + std::string(name_of(dtype)));
      Result<Trial> trial = make_trial(*op, table, c, dtype);
      if (!trial) {
        ADD_FAILURE() << to_string(trial.error());
        continue;
      }
      for (const Kernel& kernel : all) {
        const testing::ScopedTrace where(__FILE__, __LINE__, "kernel " + std::string(kernel.name));
        expect_kernel_agrees(*op, kernel, *trial, c, counts[kernel.name]);
      }
    }
  }
  report(table, counts);
  std::cout << "[  kernel  ] " << table.op << ": " << kernels(*op, Device::kCuda).size()
            << " CUDA kernels in this build, none runs here\n";
}

}  // namespace plica
