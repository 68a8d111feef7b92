#include "runtime/exec/constant_view.h"

#include "ops/copy.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {

Place constant_view(Place place) {
  const Constant& base = *place.constant;
  if (place.type == base.type && place.offset_bytes == 0) return place;
  std::string key = base.key;
  key.append("[").append(to_string(place.type)).append(" by ").append(to_string(AttrValue(place.type.strides)));
  key.append(" at ").append(std::to_string(place.offset_bytes)).append("]");
  const void* data = static_cast<const std::byte*>(base.data) + place.offset_bytes;
  place.offset_bytes = 0;
  place.constant = std::make_shared<const Constant>(Constant{place.type, data, base.owner, std::move(key)});
  return place;
}

Result<ConstantPtr> dense_constant(const Constant& view, ConstantStore& constants) {
  const std::string key = "Copy(" + view.key + ")";
  return constants.get(key, [&]() -> Result<ConstantPtr> {
    PLICA_TRY(Tensor dense, Tensor::zeros(view.type.dtype, view.type.shape));
    const TensorView in{view.type, const_cast<void*>(view.data)}, out = dense.view();
    KernelArgs args;
    args.in = {&in, 1};
    args.out = {&out, 1};
    const ops::Copy attrs;
    kernels(copy_op, Device::kCpu).back().run(&attrs, args);
    return make_constant(std::move(dense), key);
  });
}

}  // namespace plica
