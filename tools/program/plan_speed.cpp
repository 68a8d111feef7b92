#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/api/model_state.h"

namespace plica {
namespace {

void print_passes(const Plan& plan) {
  for (const PassRun& pass : plan.passes)
    std::printf("  %-24s %8.2f ms %6d edits\n", std::string(pass.name).c_str(), pass.ms, pass.num_edits);
}

// An input whose first axis is a batch of one where it is free, and whose other free axes are all as long.
Shape shape_at(const TensorInfo& input, int64_t length) {
  Shape shape = input.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < 0) shape[axis] = axis == 0 ? 1 : length;
  return shape;
}

// Plans a model at new lengths of its free axes, and prints what each took, the last one pass by pass.
int plan_lengths(const char* path, int first, int count) {
  auto model = Model::load(path);
  if (!model) return std::fprintf(stderr, "%s\n", to_string(model.error()).c_str()), 1;
  const ConstantStore& constants = model->state()->constants;
  double worst_ms = 0;
  size_t weights_bytes = 0, most_bytes = 0;  // derived constants: of the first length; most that a new length added
  for (int i = 0; i < count; ++i) {
    std::vector<TensorView> views;
    for (const TensorInfo& input : model->inputs())
      views.push_back({{input.dtype, shape_at(input, first + i), {}}, nullptr});
    const size_t before = constants.num_bytes();
    const auto planned = model->state()->plan(views);
    if (!planned) return std::fprintf(stderr, "%s\n", to_string(planned.error()).c_str()), 1;
    const Plan& plan = *(*planned)->plan;
    const size_t bytes = constants.num_bytes() - before;
    std::printf("length %d: %.1f ms, %zu steps, %zu bytes of constants made\n", first + i, plan.plan_ms,
                plan.steps.size(), bytes);
    if (i == 0) weights_bytes = bytes;
    if (i > 0) worst_ms = std::max(worst_ms, plan.plan_ms);
    if (i > 0) most_bytes = std::max(most_bytes, bytes);
    if (i + 1 == count) print_passes(plan);
  }
  std::printf("new lengths: at most %.1f ms (wanted under 50), %zu bytes of constants made\n", worst_ms, most_bytes);
  return worst_ms < 50 && most_bytes <= weights_bytes / 100 ? 0 : 2;
}

}  // namespace
}  // namespace plica

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: plica_plan_speed MODEL.onnx [FIRST_LENGTH [COUNT]]\n"), 1;
  return plica::plan_lengths(argv[1], argc > 2 ? std::atoi(argv[2]) : 100, argc > 3 ? std::atoi(argv[3]) : 20);
}
