#include "runtime/exec/constant_view.h"

#include "ops/copy.h"
#include "ops/evaluate.h"

namespace plica {

Place constant_view(Place place) {
  const Constant& base = *place.constant;
  if (place.type == base.type && place.offset_bytes == 0) return place;
  std::string key = base.key;
  key.append("[").append(to_string(place.type)).append(" by ").append(to_string(AttrValue(place.type.strides)));
  key.append(" at ").append(std::to_string(place.offset_bytes)).append("]");
  if (place.base == nullptr) place.base = place.constant;
  const void* data = static_cast<const std::byte*>(base.data) + place.offset_bytes;
  place.offset_bytes = 0;
  place.constant = std::make_shared<const Constant>(Constant{place.type, data, base.owner, std::move(key)});
  return place;
}

Result<ConstantPtr> dense_constant(const Constant& view, ConstantStore& constants) {
  const std::string key = "Copy(" + view.key + ")";
  return constants.get(key, [&]() -> Result<ConstantPtr> {
    const TensorView in{view.type, const_cast<void*>(view.data)};
    PLICA_TRY(std::vector<Tensor> dense, compute(copy_op, ops::Copy{}, {&in, 1}));
    return make_constant(std::move(dense[0]), key);
  });
}

}  // namespace plica
