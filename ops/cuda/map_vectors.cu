#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

// All operands, y first, merged together; absent ones are walked with stride 0.
Layout<kMapInputs + 1> merged(const Shape& shape, const TensorType& y, std::span<const TensorType* const> in) {
  std::array<AxisStrides, kMapInputs + 1> strides{};
  strides[0] = strides_in(y, shape.size());
  for (size_t i = 0; i < in.size(); ++i) strides[i + 1] = strides_in(*in[i], shape.size());
  return make_layout(std::span<const int64_t>(shape), strides);
}

void set_access(MapOperand& operand, int rank, int width) {
  const int64_t step = operand.stride[rank - 1];
  operand.access = step == 0 ? MapAccess::kRepeated : MapAccess::kStrided;
  if (step != 1) return;
  bool aligned = is_aligned(operand.data, static_cast<size_t>(width) * size_of(operand.dtype));
  for (int i = 0; i + 1 < rank; ++i) aligned &= operand.stride[i] % width == 0;
  if (aligned) operand.access = MapAccess::kVector;
}

}  // namespace

bool map_vectors(const KernelArgs& args, MapVectors& map) {
  std::array<const TensorType*, kMapInputs> types{};
  const size_t num_inputs = args.in.size();
  for (size_t i = 0; i < num_inputs; ++i) types[i] = &args.in[i].type;
  const auto layout = merged(args.out[0].type.shape, args.out[0].type, std::span(types).first(num_inputs));
  if (layout.rank > kMapAxes) return false;
  map.rank = std::max(layout.rank, 1);
  map.num_inputs = static_cast<int>(num_inputs);
  map.narrow = layout.narrow;
  map.count = layout.count;
  map.size[0] = 1;
  for (int i = 0; i < layout.rank; ++i) {
    map.size[i] = layout.size[i];
    map.divider[i] = layout.divider[i];
  }
  for (size_t n = 0; n <= num_inputs; ++n) {
    MapOperand& operand = n == 0 ? map.y : map.in[n - 1];
    const TensorView& view = n == 0 ? args.out[0] : args.in[n - 1];
    operand.data = view.data;
    operand.dtype = view.type.dtype;
    operand.element_bytes = static_cast<uint8_t>(size_of(view.type.dtype));
    for (int i = 0; i < layout.rank; ++i) operand.stride[i] = layout.stride[n][i];
  }
  return true;
}

int set_width(MapVectors& map, std::span<const int> widths) {
  size_t choice = 0;
  while (map.rank > 1 && map.size[map.rank - 1] % widths[choice] != 0) ++choice;
  const int width = widths[choice];
  set_access(map.y, map.rank, width);
  for (int i = 0; i < map.num_inputs; ++i) set_access(map.in[i], map.rank, width);
  return width;
}

const char* map_vectors_decline(const Case& c) {
  if (const char* why = over_rank(c)) return why;
  if (c.in.size() > kMapInputs) return "more than 8 inputs";
  std::array<const TensorType*, kMapInputs> types{};
  for (size_t i = 0; i < c.in.size(); ++i) types[i] = c.in[i].type;
  const auto layout = merged(c.out[0].type->shape, *c.out[0].type, std::span(types).first(c.in.size()));
  return layout.rank > kMapAxes ? "more than 4 axes that do not merge" : nullptr;
}

}  // namespace plica::cuda
