#include <algorithm>
#include <span>

#include "ops/cuda/attention_simt_split.cuh"
#include "ops/cuda/attention_simt_split.h"

namespace plica::cuda::attention {
namespace {

// What the kernel can be launched as. By times of an H200: how long a row takes beside one of the first form, and how many blocks keep a
// multiprocessor busy.
struct Form {
  int rows, busy;
  double row_time;
  void (*launch)(const Shape& shape, const KernelArgs& args);
};

template <class L>
void launch_split(const Shape& shape, const KernelArgs& args) {
  const Pointers p = pointers_of(shape, args);
  const SimtLaunch launch = simt_launch(shape, p, L::kRows);
  cudaFuncSetAttribute(simt_split<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(L::kSharedBytes));
  launch_early({blocks_for(shape.heads.count * launch.query_tiles, 1), L::kThreads, L::kSharedBytes, stream_of(args)},
               simt_split<L>, shape, p, launch);
}

template <int kWidth, int kLaneRows, int kLaneKeys, int kWarps>
constexpr Form form(int busy, double row_time) {
  using L = SplitLanes<kWidth, kLaneRows, kLaneKeys, kWarps>;
  return {L::kRows, busy, row_time, launch_split<L>};
}
constexpr Form kForms16[] = {form<16, 2, 4, 8>(1, 1), form<16, 4, 8, 4>(3, 0.78)};
constexpr Form kForms32[] = {form<32, 2, 4, 8>(1, 1), form<32, 4, 8, 4>(3, 0.78)};
constexpr Form kForms64[] = {form<64, 2, 4, 8>(1, 1), form<64, 3, 4, 8>(1, 0.9), form<64, 4, 4, 4>(3, 0.78)};
constexpr Form kForms128[] = {form<128, 2, 4, 4>(2, 1), form<128, 4, 4, 4>(2, 0.78)};

int64_t blocks_of(const Shape& shape, int rows) { return shape.heads.count * ceil_div(shape.rows, rows); }

// How long the busiest multiprocessor works: with blocks too few to keep it busy, as if it had half of those that are missing.
double time_of(const Form& form, const Shape& shape, int multiprocessors) {
  const int64_t blocks = ceil_div(blocks_of(shape, form.rows), multiprocessors);
  const int64_t missing = ceil_div(blocks, form.busy) * form.busy - blocks;
  return (static_cast<double>(blocks) + 0.5 * static_cast<double>(missing)) * form.rows * form.row_time;
}

const Form& fastest(std::span<const Form> forms, const Shape& shape) {
  const int multiprocessors = num_multiprocessors();
  return *std::min_element(forms.begin(), forms.end(), [&](const Form& a, const Form& b) {
    return time_of(a, shape, multiprocessors) < time_of(b, shape, multiprocessors);
  });
}

}  // namespace

const char* declines_simt_split(const ops::Attention& op, const Case& c) {
  if (const char* why = declines_simt(op, c)) return why;
  if (op.causal || c.has(kSegments)) return "rows do not see all keys";
  const Shape shape = shape_of(c);
  if (std::max(shape.width, shape.value_width) > 128) return "a width is over 128";
  const bool few_keys = shape.keys <= 64 && blocks_of(shape, 16) > 3 * num_multiprocessors();
  if (few_keys || (shape.rows > 32 && fills_device(shape, 128, 1)))
    return "rows fill the device in blocks that share keys";
  return nullptr;
}

void run_simt_split(const ops::Attention& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  if (shape.heads.count == 0 || shape.rows == 0 || shape.value_width == 0) return;
  const int64_t width = std::max(shape.width, shape.value_width);
  const std::span<const Form> forms = width <= 16   ? std::span<const Form>(kForms16)
                                      : width <= 32 ? std::span<const Form>(kForms32)
                                      : width <= 64 ? std::span<const Form>(kForms64)
                                                    : std::span<const Form>(kForms128);
  fastest(forms, shape).launch(shape, args);
}

}  // namespace plica::cuda::attention
