#pragma once

#include <vector>

#include "graph/graph.h"

namespace plica {

// Which values of a graph hang on constants alone, as it was when asked.
class KnownValues {
 public:
  explicit KnownValues(const Graph& graph);
  bool operator()(ValueId id) const { return known_[static_cast<size_t>(id)]; }

 private:
  std::vector<bool> known_;
};

}  // namespace plica
