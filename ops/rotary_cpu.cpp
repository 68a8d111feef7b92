#include "ops/cpu/rotary.h"
#include "ops/cpu/threads.h"
#include "ops/element.h"
#include "ops/leading_axes.h"
#include "ops/op.h"
#include "ops/rotary.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void rows(const ops::Rotary& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];  // (..., L, D)
  const size_t rank = x.type.shape.size(), last = rank - 1;
  const int64_t width = x.type.shape[last], half = width / 2;
  const std::array strides{strides_in(x.type, rank), strides_in(args.in[1].type, rank),
                           strides_in(args.in[2].type, rank), strides_in(y.type, rank)};
  for_each_index<4>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    for (int64_t d = 0; d < width; ++d) {
      const bool first = op.interleaved ? d % 2 == 0 : d < half;
      const int64_t distance = op.interleaved ? 1 : half, partner = first ? d + distance : d - distance;
      const double rotated = (first ? -1 : 1) * read<T>(x, at[0] + partner * strides[0][last]);
      const double cosine = read<T>(args.in[1], at[1] + d * strides[1][last]);
      const double sine = read<T>(args.in[2], at[2] + d * strides[2][last]);
      write<T>(y, at[3] + d * strides[3][last], read<T>(x, at[0] + d * strides[0][last]) * cosine + rotated * sine);
    }
  });
}

void ref(const ops::Rotary& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

// Rows of adjacent f32 values, both halves of a row at a time, or its pairs.
const char* row_declines(const ops::Rotary&, const Case& c) {
  const int64_t width = c.in[0].type->shape.back();
  for (const Operand* operand : {&c.in[0], &c.in[1], &c.in[2], &c.out[0]}) {
    if (operand->type->dtype != DType::kF32) return "an operand is not f32";
    const size_t rank = operand->type->shape.size();
    if (rank == 0 || operand->type->shape.back() != width) return "cos or sin is repeated along the last axis";
    if (width > 1 && strides_in(*operand->type, rank)[rank - 1] != 1) return "rows are not adjacent values";
  }
  return nullptr;
}

void row(const ops::Rotary& op, const KernelArgs& args) {
  const Shape& shape = args.out[0].type.shape;
  const size_t rank = shape.size();
  LeadingAxes<4> axes(std::span<const int64_t>(shape).first(rank - 1),
                      {strides_in(args.in[0].type, rank), strides_in(args.in[1].type, rank),
                       strides_in(args.in[2].type, rank), strides_in(args.out[0].type, rank)});
  cpu::RotaryRows rows;
  rows.width = shape.back();
  int64_t inner = 1;
  if (axes.rank > 0) {
    const size_t last = --axes.rank;
    inner = axes.sizes[last];
    rows.x_stride = axes.strides[0][last];
    rows.cos_stride = axes.strides[1][last];
    rows.sin_stride = axes.strides[2][last];
    rows.y_stride = axes.strides[3][last];
  }
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(shape.back() * inner, 1));
  cpu::parallel_for(axes.count(), grain, args.num_threads, [&](int64_t begin, int64_t end, int) {
    const auto data = [&](size_t i, int64_t at) { return static_cast<const float*>(args.in[i].data) + at; };
    for (int64_t i = begin; i < end; ++i) {
      const auto at = axes.at(i);
      cpu::RotaryRows here = rows;
      here.x = data(0, at[0]), here.cos = data(1, at[1]), here.sin = data(2, at[2]);
      here.y = static_cast<float*>(args.out[0].data) + at[3];
      (op.interleaved ? cpu::rotate_pairs : cpu::rotate_rows)(here, inner);
    }
  });
}

constexpr Kernel kKernels[] = {
    {.name = "row", .declines = As<ops::Rotary>::fn<row_declines>, .run = As<ops::Rotary>::fn<row>, .in_place = 1},
    {.name = "ref", .run = As<ops::Rotary>::fn<ref>},
};

}  // namespace

constinit const Kernels rotary_cpu_kernels = kKernels;

}  // namespace plica
