#include <algorithm>
#include <cstring>

#include "ops/copy.h"
#include "ops/cpu/strided_copy.h"
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

// Axes joined where they lie in line; then rows, or blocks of transposes.
void blocks(const ops::Copy&, const KernelArgs& args) {
  const Shape& shape = args.in[0].type.shape;
  cpu::StridedCopy copy;
  copy.rank = static_cast<int>(shape.size());
  std::ranges::copy(shape, copy.sizes.begin());
  copy.from = strides_in(args.in[0].type, shape.size());
  copy.to = strides_in(args.out[0].type, shape.size());
  cpu::copy_strided(cpu::simplify(copy), size_of(args.in[0].type.dtype), args.in[0].data, args.out[0].data,
                    args.num_threads);
}

constexpr Kernel kKernels[] = {
    {.name = "blocks", .run = As<ops::Copy>::fn<blocks>},
    {.name = "ref", .run = As<ops::Copy>::fn<ref>},
};

}  // namespace

constinit const Kernels copy_cpu_kernels = kKernels;

}  // namespace plica
