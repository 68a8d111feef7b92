#include "runtime/api/fit.h"

#include <algorithm>

namespace plica {
namespace {

// The types of the inputs with some of the free sizes replaced.
class Sizes {
 public:
  Sizes(const Model::State& model, std::span<const TensorView> inputs) : model_(model) {
    for (const TensorView& input : inputs) views_.push_back({{input.type.dtype, input.type.shape, {}}, nullptr});
    for (size_t i = 0; i < views_.size(); ++i) {
      const Port& port = model.source.inputs[i];
      for (size_t axis = 0; axis < std::min(port.symbols.size(), views_[i].type.shape.size()); ++axis) {
        const std::string& symbol = port.symbols[axis];
        if (!symbol.empty() && std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end())
          symbols_.push_back(symbol);
      }
    }
  }

  const std::vector<std::string>& symbols() const { return symbols_; }
  std::span<const TensorView> views() const { return views_; }

  int64_t get(const std::string& symbol) const {
    int64_t size = 0;
    for (size_t i = 0; i < views_.size(); ++i)
      for (size_t axis : axes_of(i, symbol)) size = std::max(size, views_[i].type.shape[axis]);
    return size;
  }
  void set(const std::string& symbol, int64_t size) {
    for (size_t i = 0; i < views_.size(); ++i)
      for (size_t axis : axes_of(i, symbol)) views_[i].type.shape[axis] = size;
  }

 private:
  std::vector<size_t> axes_of(size_t input, const std::string& symbol) const {
    const std::vector<std::string>& symbols = model_.source.inputs[input].symbols;
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < std::min(symbols.size(), views_[input].type.shape.size()); ++axis)
      if (symbols[axis] == symbol) axes.push_back(axis);
    return axes;
  }

  const Model::State& model_;
  std::vector<TensorView> views_;
  std::vector<std::string> symbols_;
};

}  // namespace

std::string what_fits(Model::State& model, std::span<const TensorView> inputs) {
  Sizes sizes(model, inputs);
  const auto fits = [&](const std::string& symbol, int64_t size) {
    sizes.set(symbol, size);
    return static_cast<bool>(model.plans.plan_once(sizes.views()));
  };
  std::string text;
  for (const std::string& symbol : sizes.symbols()) {
    int64_t above = sizes.get(symbol), below = 1;  // above does not fit
    text.append(text.empty() ? "" : ", ").append(symbol).append(" ");
    if (above > 1 && fits(symbol, 1)) {
      while (above - below > 1) {
        const int64_t middle = below + (above - below) / 2;
        (fits(symbol, middle) ? below : above) = middle;
      }
      return text.append(std::to_string(below)).append(" would fit");
    }
    sizes.set(symbol, std::min<int64_t>(above, 1));
    text.append(std::to_string(std::min<int64_t>(above, 1)));
  }
  return text.empty() ? text : "nothing smaller fits";
}

}  // namespace plica
