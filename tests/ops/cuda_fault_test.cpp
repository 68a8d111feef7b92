#include <gtest/gtest.h>

#include "ops/gather.h"
#include "ops/gather_elements.h"
#include "ops/gather_nd.h"
#include "ops/op.h"
#include "ops/scatter_elements.h"
#include "ops/scatter_nd.h"
#include "runtime/core/shape.h"
#include "tests/harness/cuda_mirror.h"
#include "tests/harness/evaluated.h"

namespace plica {
namespace {

std::span<std::byte> bytes_of(Tensor& tensor) { return {static_cast<std::byte*>(tensor.data()), tensor.num_bytes()}; }

// The fault that the first kernel of an operator reports on the device.
Fault fault_of(const char* name, const Attrs& attrs, std::vector<Tensor> in) {
  const OpDef& op = *find_op(name);
  std::vector<const TensorType*> types;
  std::vector<Operand> operands;
  for (const Tensor& x : in) types.push_back(&x.type());
  const auto results = infer_types(op, attrs, types);
  EXPECT_TRUE(results);
  for (const TensorType* type : types) operands.push_back({type, nullptr, 64});
  const Operand result{&results->front(), nullptr, 64};
  Case c;
  c.in = operands;
  c.out = std::span(&result, 1);
  c.device = cuda_device_traits();

  CudaMirror mirror;
  std::vector<TensorView> views;
  for (Tensor& x : in) views.push_back({x.type(), mirror.add(bytes_of(x), x.data())});
  Tensor y = *Tensor::zeros(results->front().dtype, results->front().shape);
  const TensorView out{y.type(), mirror.add(bytes_of(y), y.data())};
  const Kernel& kernel = kernels(op, Device::kCuda).front();
  std::vector<std::byte> scratch(kernel.scratch_bytes ? kernel.scratch_bytes(attrs.get(), c) : 0);
  Fault fault;
  KernelArgs args{views, std::span(&out, 1)};
  args.scratch = mirror.add(scratch, scratch.data());
  args.fault = static_cast<Fault*>(mirror.add(std::as_writable_bytes(std::span(&fault, 1)), &fault));
  EXPECT_EQ(mirror.run([&](void* stream) {
    args.stream = stream;
    kernel.run(attrs.get(), args);
  }),
            "");
  return fault;
}

void expect_index_fault(const Fault& fault, int64_t found, int64_t limit) {
  EXPECT_STREQ(fault.what, "index");
  EXPECT_EQ(fault.found, found);
  EXPECT_EQ(fault.limit, limit);
}

class CudaFault : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cuda_unavailable(); !why.empty()) GTEST_SKIP() << why;
  }
  Tensor x = f32({4}, {1, 2, 3, 4});
};

TEST_F(CudaFault, GathersReportAnIndexOutside) {
  expect_index_fault(fault_of("Gather", ops::Gather{}, {x, i64({2}, {1, 4})}), 4, 4);
  expect_index_fault(fault_of("Gather", ops::Gather{}, {x, i64({2}, {-5, 0})}), -5, 4);
  expect_index_fault(fault_of("GatherElements", ops::GatherElements{}, {x, i64({2}, {1, 9})}), 9, 4);
  expect_index_fault(fault_of("GatherNd", ops::GatherNd{}, {x, i64({1, 1}, {7})}), 7, 4);
}

TEST_F(CudaFault, ScattersReportAnIndexOutside) {
  expect_index_fault(fault_of("ScatterElements", ops::ScatterElements{}, {x, i64({2}, {1, 4}), f32({2}, {5, 6})}), 4,
                     4);
  expect_index_fault(fault_of("ScatterNd", ops::ScatterNd{}, {x, i64({1, 1}, {-5}), f32({1}, {5})}), -5, 4);
}

TEST_F(CudaFault, NothingIsReportedWhereAllIsWell) {
  EXPECT_EQ(fault_of("Gather", ops::Gather{}, {x, i64({2}, {-4, 3})}).what, nullptr);
}

}  // namespace
}  // namespace plica
