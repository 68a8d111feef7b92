#include "ops/element.h"
#include "ops/op.h"
#include "ops/pad.h"
#include "ops/strided.h"

namespace plica {
namespace {

using ops::PadMode;

int64_t modulo(int64_t i, int64_t n) { return ((i % n) + n) % n; }

// Which element of an axis of `size` stands at place i of it and beyond; -1: the fill value.
int64_t source(PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PadMode::kEdge: return i < 0 ? 0 : size - 1;
    case PadMode::kWrap: return modulo(i, size);
    case PadMode::kReflect: {
      if (size == 1) return 0;
      const int64_t folded = modulo(i, 2 * size - 2);
      return folded < size ? folded : 2 * size - 2 - folded;
    }
    default: return -1;
  }
}

template <class T>
void elements(const ops::Pad& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size();
  const AxisStrides x_strides = strides_in(x.type, rank);
  const T fill = args.has(1) ? *static_cast<const T*>(args.in[1].data) : T{};
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  for_each_index<1>(y.type.shape, {strides_in(y.type, rank)}, [&](const auto& at, const AxisSizes& index) {
    int64_t offset = 0;
    bool filled = false;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t element = source(op.mode, index[i] - op.before[i], x.type.shape[i]);
      filled |= element < 0;
      offset += element * x_strides[i];
    }
    to[at[0]] = filled ? fill : from[offset];
  });
}

void ref(const ops::Pad& op, const KernelArgs& args) {
  visit_size(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Pad>::fn<ref>},
};

}  // namespace

constinit const Kernels pad_cpu_kernels = kKernels;

}  // namespace plica
