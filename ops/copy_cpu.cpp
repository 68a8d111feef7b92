#include <cstring>

#include "ops/copy.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

void ref(const ops::Copy&, const KernelArgs& args) {
  const size_t bytes = size_of(args.in[0].type.dtype);
  auto* x = static_cast<const std::byte*>(args.in[0].data);  // (...)
  auto* y = static_cast<std::byte*>(args.out[0].data);       // (...)
  const auto step = static_cast<int64_t>(bytes);
  for_each_element<2>(
      args.in[0].type.shape, {&args.in[0].type, &args.out[0].type},
      [&](const std::array<int64_t, 2>& at) { std::memcpy(y + at[1] * step, x + at[0] * step, bytes); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Copy>::fn<ref>},
};

}  // namespace

constinit const Kernels copy_cpu_kernels = kKernels;

}  // namespace plica
