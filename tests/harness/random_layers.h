#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace plica {

// Lines of a graph in text notation, put together by chance: layers of activations (.., length, channels), each in one of
// the spellings that exporters and authors have. What a layer should be found as is counted.
class RandomLayers {
 protected:
  using Shape = std::vector<int64_t>;

  explicit RandomLayers(uint32_t seed) : random_(seed) {}

  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint32_t>(most - least + 1));
  }

  bool chance() { return random_() % 2 == 0; }

  void add(const std::string& line) { text_ += line + "\n"; }

  std::string name() { return "t" + std::to_string(num_names_++); }

  std::string step(const std::string& expression);

  std::string constant(const Shape& sizes);

  Shape shape(int64_t columns) const {
    Shape sizes = lead_;
    sizes.push_back(length_);
    sizes.push_back(columns);
    return sizes;
  }

  std::string last_axis() const { return std::to_string(lead_.size() + 1); }

  // The operands of a commutative operator in one of their orders.
  std::string both(const std::string& op, const std::string& a, const std::string& b);

  std::string mean(const std::string& x);

  std::string square(const std::string& x);

  // x / sqrt(v + eps)
  std::string by_deviation(const std::string& x, const std::string& v);

  std::string affine(std::string y, bool has_beta);

  std::string norm(const std::string& x);

  std::string linear(const std::string& x, int64_t from, int64_t to);

  std::string activation(const std::string& x);

  std::string residual(const std::string& x, const std::string& y);

  std::string scaled(const std::string& x, double scale);

  // The leading axes as they are, the last three permuted.
  std::string permuted(const std::string& x, const Shape& last);

  std::string transition(const std::string& x);

  std::string gated(const std::string& x);

  std::mt19937 random_;
  std::string text_;
  std::map<std::string, int> structures_;
  Shape lead_;  // axes of the activations before their length
  int64_t length_ = 1, channels_ = 4;
  int num_names_ = 0;
};

// Sizes with a separator in between.
std::string joined(const std::vector<int64_t>& sizes, const char* separator);

// As the text notation has it.
std::string number(double value);

}  // namespace plica
