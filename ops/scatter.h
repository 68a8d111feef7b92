#pragma once

#include "ops/element.h"
#include "ops/scatter_elements.h"

namespace plica {

// What an element becomes when `update` meets it. NaN wins over any number.
template <class W>
W scattered(ops::ScatterReduction reduction, W element, W update) {
  switch (reduction) {
    case ops::ScatterReduction::kAdd: return add(element, update);
    case ops::ScatterReduction::kMul: return multiply(element, update);
    case ops::ScatterReduction::kMax: return element > update || is_nan(element) ? element : update;
    case ops::ScatterReduction::kMin: return element < update || is_nan(element) ? element : update;
    default: return update;
  }
}

}  // namespace plica
