#include "ops/slice.h"

#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Slice& op, InTypes in) {
  const size_t rank = in[0]->shape.size();
  if (op.starts.size() != rank || op.sizes.size() != rank || op.steps.size() != rank)
    return Error(Code::kInvalidModel,
                 "Slice: starts, sizes or steps do not have one entry for each axis of " + to_string(in[0]->shape));
  for (size_t i = 0; i < rank; ++i) {
    if (op.sizes[i] == 0) continue;
    const int64_t last = op.starts[i] + (op.sizes[i] - 1) * op.steps[i], size = in[0]->shape[i];
    if (op.sizes[i] < 0 || op.starts[i] < 0 || op.starts[i] >= size || last < 0 || last >= size)
      return Error(Code::kInvalidModel, "Slice: axis " + std::to_string(i) + " from " + std::to_string(op.starts[i]) +
                                            " to " + std::to_string(last) + ", wanted within its size " +
                                            std::to_string(size));
  }
  return Types{{in[0]->dtype, op.sizes, {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef slice_op = {
    .name = "Slice",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Slice>,
    .infer = As<ops::Slice>::fn<infer>,
    .is_view = true,
};

}  // namespace plica
