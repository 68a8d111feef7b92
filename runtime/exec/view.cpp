#include "runtime/exec/view.h"

namespace plica {

std::optional<Place> view_of(const Node& node, const Place& base) {
  std::optional<View> view = view_through(*node.op, node.attrs, base.type);
  if (!view) return std::nullopt;
  Place place = base;
  place.offset_bytes += view->offset * static_cast<int64_t>(size_of(base.type.dtype));
  place.type = std::move(view->type);
  return place;
}

}  // namespace plica
