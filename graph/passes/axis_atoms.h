#pragma once

#include <optional>
#include <vector>

#include "graph/patch.h"
#include "ops/attrs.h"

namespace plica {

// The axes of values that views of each other have, in pieces: a Reshape that cuts an axis cuts the atom that it stands for,
// wherever that atom is. Axes of size 1 have no atoms.
class AxisAtoms {
 public:
  using Atoms = std::vector<int>;   // one behind the other, the last one fastest
  using Axes = std::vector<Atoms>;  // of each axis of a value

  // The atoms of a new axis: none where its size is 1.
  Atoms add(int64_t size);

  // Uncut atoms that a list stands for now.
  Atoms whole(const Atoms& atoms) const;
  Atoms whole(const Axes& axes) const;
  int64_t size(const Atoms& atoms) const;

  // The axes behind a Reshape to `shape`; atoms are cut where that can be. Nullopt where it cannot.
  std::optional<Axes> reshaped(const Axes& axes, const Shape& shape);

 private:
  struct Atom {
    int64_t size;
    Atoms parts;
  };
  std::vector<Atom> atoms_;
};

// A value and its axes.
struct AtomView {
  ValueId value = kNone;
  AxisAtoms::Axes axes;
};

// What a value is a view of, through Reshapes and Transposes that the atoms can follow.
AtomView source_of(const Graph& graph, AxisAtoms& atoms, AtomView view);

// A view of the value with these axes. All of them must stand for atoms of the value, each for one, and for all of them.
Result<ValueId> arranged(Patch& patch, const AxisAtoms& atoms, const AtomView& from, const AxisAtoms::Axes& to);

}  // namespace plica
