#include "graph/passes/axis_atoms.h"

#include <algorithm>

#include "graph/passes/predicates.h"
#include "ops/reshape.h"
#include "ops/transpose.h"

namespace plica {

AxisAtoms::Atoms AxisAtoms::add(int64_t size) {
  if (size == 1) return {};
  atoms_.push_back({size, {}});
  return {static_cast<int>(atoms_.size()) - 1};
}

AxisAtoms::Atoms AxisAtoms::whole(const Atoms& atoms) const {
  Atoms list;
  for (const int atom : atoms) {
    const Atoms& parts = atoms_[static_cast<size_t>(atom)].parts;
    if (parts.empty()) {
      list.push_back(atom);
      continue;
    }
    const Atoms inner = whole(parts);
    list.insert(list.end(), inner.begin(), inner.end());
  }
  return list;
}

AxisAtoms::Atoms AxisAtoms::whole(const Axes& axes) const {
  Atoms list;
  for (const Atoms& axis : axes) {
    const Atoms inner = whole(axis);
    list.insert(list.end(), inner.begin(), inner.end());
  }
  return list;
}

int64_t AxisAtoms::size(const Atoms& atoms) const {
  int64_t product = 1;
  for (const int atom : atoms) product *= atoms_[static_cast<size_t>(atom)].size;
  return product;
}

std::optional<AxisAtoms::Axes> AxisAtoms::reshaped(const Axes& axes, const Shape& shape) {
  Atoms rest = whole(axes);
  std::reverse(rest.begin(), rest.end());
  Axes made;
  for (int64_t left : shape) {
    Atoms& axis = made.emplace_back();
    while (left > 1) {
      if (rest.empty()) return std::nullopt;
      const int atom = rest.back();
      const int64_t own = atoms_[static_cast<size_t>(atom)].size;
      rest.pop_back();
      if (own > left) {
        if (own % left != 0) return std::nullopt;
        const int outer = add(left)[0], inner = add(own / left)[0];
        atoms_[static_cast<size_t>(atom)].parts = {outer, inner};
        rest.push_back(inner);
        axis.push_back(outer);
        left = 1;
        continue;
      }
      if (own == 0 || left % own != 0) return std::nullopt;
      axis.push_back(atom);
      left /= own;
    }
    if (left == 0) return std::nullopt;
  }
  return rest.empty() ? std::optional(std::move(made)) : std::nullopt;
}

AtomView source_of(const Graph& graph, AxisAtoms& atoms, AtomView view) {
  for (NodeId id = graph.value(view.value).producer; id != kNone; id = graph.value(view.value).producer) {
    const Node& node = graph.node(id);
    if (node.op == &reshape_op) {
      auto axes = atoms.reshaped(view.axes, graph.type(node.inputs[0]).shape);
      if (!axes) return view;
      view = {node.inputs[0], *std::move(axes)};
    } else if (node.op == &transpose_op) {
      AxisAtoms::Axes axes;
      for (const int64_t axis : inverse_perm(node.attrs.as<ops::Transpose>().perm))
        axes.push_back(view.axes[static_cast<size_t>(axis)]);
      view = {node.inputs[0], std::move(axes)};
    } else {
      return view;
    }
  }
  return view;
}

Result<ValueId> arranged(Patch& patch, const AxisAtoms& atoms, const AtomView& from, const AxisAtoms::Axes& to) {
  const AxisAtoms::Atoms old = atoms.whole(from.axes), wanted = atoms.whole(to);
  Shape cut, shape;
  for (const int atom : old) cut.push_back(atoms.size({atom}));
  for (const auto& axis : to) shape.push_back(atoms.size(atoms.whole(axis)));
  ops::Transpose transpose;
  for (const int atom : wanted) transpose.perm.push_back(std::find(old.begin(), old.end(), atom) - old.begin());
  ValueId value = from.value;
  const auto reshape = [&](Shape wanted_shape) -> Status {
    if (patch.graph().type(value).shape == wanted_shape) return {};
    PLICA_TRY(value, patch.add(reshape_op, ops::Reshape{std::move(wanted_shape)}, {value}));
    return {};
  };
  if (!std::is_sorted(transpose.perm.begin(), transpose.perm.end())) {
    PLICA_CHECK(reshape(std::move(cut)));
    PLICA_TRY(value, patch.add(transpose_op, std::move(transpose), {value}));
  }
  PLICA_CHECK(reshape(std::move(shape)));
  return value;
}

}  // namespace plica
