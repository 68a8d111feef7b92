#include "tests/ops_cpu/kernel_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

double element(const Tensor& t, size_t i) {
  return visit_dtype(t.dtype(), [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    const T value = t.as<T>()[i];
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>)
      return to_float(value);
    else
      return static_cast<double>(value);
  });
}

Tensor random_tensor(const CaseOperand& operand, unsigned seed) {
  Tensor tensor = *Tensor::zeros(operand.dtype, operand.storage);
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(operand.lowest, operand.highest), unit(0, 1);
  const int64_t count = num_elements(operand.storage);
  visit_dtype(operand.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>)
        tensor.as<bool>()[i] = unit(rng) < operand.highest;
      else if constexpr (std::is_same_v<T, F16>)
        tensor.as<F16>()[i] = to_f16(uniform(rng));
      else if constexpr (std::is_same_v<T, BF16>)
        tensor.as<BF16>()[i] = to_bf16(uniform(rng));
      else
        tensor.as<T>()[i] = static_cast<T>(uniform(rng));
    }
  });
  return tensor;
}

TensorType type_of(const CaseOperand& operand) {
  TensorType type{operand.dtype, operand.storage, {}};
  if (operand.order.empty()) return type;
  const Strides dense = dense_strides(operand.storage);
  type.shape.clear();
  for (int64_t axis : operand.order) {
    type.shape.push_back(operand.storage[static_cast<size_t>(axis)]);
    type.strides.push_back(dense[static_cast<size_t>(axis)]);
  }
  return type;
}

struct Prepared {
  std::vector<Tensor> memory;
  std::vector<TensorType> types;
  std::vector<Operand> in, out;
  std::vector<TensorView> views;
  TensorType result;
};

void compare(const KernelCase& c, const Kernel& kernel, const Tensor& wanted, const Tensor& found) {
  for (int64_t i = 0; i < num_elements(wanted.shape()); ++i) {
    const double w = element(wanted, static_cast<size_t>(i)), f = element(found, static_cast<size_t>(i));
    if (std::isnan(w) && std::isnan(f)) continue;
    if (w == f) continue;
    ASSERT_LE(std::fabs(w - f), c.tolerance * (1 + std::fabs(w)))
        << c.op << " by " << kernel.name << " at " << i << ": " << f << ", wanted " << w;
  }
}

Tensor run(const KernelCase& c, Prepared& p, const Kernel& kernel, int num_threads) {
  Case the_case{p.in, p.out, {}, Precision::kF32};
  the_case.device.num_threads = num_threads;
  ConstantStore store;
  KernelState state;
  if (kernel.prepare) {
    auto prepared = kernel.prepare(c.attrs.get(), the_case, store);
    EXPECT_TRUE(prepared) << prepared.error().what();
    state = *prepared;
  }
  const size_t scratch_bytes = kernel.scratch_bytes ? kernel.scratch_bytes(c.attrs.get(), the_case) : 0;
  Tensor scratch = *Tensor::zeros(DType::kU8, {static_cast<int64_t>(scratch_bytes) + 64});
  std::fill_n(scratch.as<uint8_t>(), scratch_bytes + 64, uint8_t{0xff});  // NaN
  Tensor y = *Tensor::zeros(p.result.dtype, p.result.shape);
  std::fill_n(y.as<uint8_t>(), y.num_bytes(), uint8_t{0xff});
  const TensorView out{p.result, y.data()};
  Fault fault;
  KernelArgs args{p.views, {&out, 1}, scratch.data(), nullptr, state.get(), &fault, num_threads};
  kernel.run(c.attrs.get(), args);
  EXPECT_EQ(fault.what, nullptr);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(scratch.as<uint8_t>()[scratch_bytes + i], 0xff) << "scratch overrun";
  return y;
}

}  // namespace

void expect_kernels_agree(const KernelCase& c) {
  const OpDef* op = find_op(c.op);
  ASSERT_NE(op, nullptr) << c.op;
  Prepared p;
  std::vector<const TensorType*> in_types;
  p.types.resize(c.in.size());
  for (size_t i = 0; i < c.in.size(); ++i) {
    p.memory.push_back(c.in[i] ? random_tensor(*c.in[i], static_cast<unsigned>(i + 1)) : Tensor());
    if (c.in[i]) p.types[i] = type_of(*c.in[i]);
    const TensorType* type = c.in[i] ? &p.types[i] : nullptr;
    in_types.push_back(type);
    ConstantPtr constant = c.in[i] && c.in[i]->constant ? make_constant(p.memory[i], "w" + std::to_string(i)) : nullptr;
    p.in.push_back({type, constant, 64});
    p.views.push_back({p.types[i], c.in[i] ? p.memory[i].data() : nullptr});
  }
  auto types = infer_types(*op, c.attrs, in_types);
  ASSERT_TRUE(types) << types.error().what();
  p.result = (*types)[0];
  p.out.push_back({&p.result, nullptr, 64});

  const Kernels all = kernels(*op, Device::kCpu);
  const Tensor wanted = run(c, p, all.back(), 1);
  bool ran = false;
  for (const Kernel& kernel : all.first(all.size() - 1)) {
    const Case the_case{p.in, p.out, {}, Precision::kF32};
    if (kernel.declines && kernel.declines(c.attrs.get(), the_case)) continue;
    ran |= kernel.name == c.kernel;
    const Tensor one = run(c, p, kernel, 1), three = run(c, p, kernel, 3);
    compare(c, kernel, wanted, one);
    for (size_t i = 0; i < one.num_bytes(); ++i)
      ASSERT_EQ(one.as<uint8_t>()[i], three.as<uint8_t>()[i])
          << c.op << " by " << kernel.name << " depends on the team";
  }
  EXPECT_TRUE(ran) << c.op << ": no kernel " << c.kernel << " took the case";
}

}  // namespace plica
