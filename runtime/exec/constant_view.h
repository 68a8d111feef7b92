#pragma once

#include "ops/constant.h"
#include "runtime/exec/plan.h"

namespace plica {

// A place on a constant with its offset and strides made those of a Constant of its own, whose key tells it apart.
Place constant_view(Place place);

// The elements of a strided view of a constant without gaps; made once a model.
Result<ConstantPtr> dense_constant(const Constant& view, ConstantStore& constants);

}  // namespace plica
