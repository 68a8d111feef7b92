#include "tests/harness/random_structures.h"

#include "tests/harness/random_attention.h"

namespace plica {
namespace {

class Writer : RandomAttention {
 public:
  explicit Writer(uint32_t seed) : RandomAttention(seed) {}

  RandomStructures write() {
    lead_.assign(static_cast<size_t>(between(1, 2)), 0);
    for (int64_t& size : lead_) size = between(1, 3);
    length_ = between(1, 9);
    if (lead_.size() == 2 && chance()) lead_[1] = length_;
    channels_ = 4 * between(1, 5);
    add("input x: f32 " + joined(shape(channels_), "x"));
    add("input pair: f32 " + joined({length_, length_, kPairChannels}, "x"));
    std::string x = step("Sin(Mul(x, 0.37))");
    pair_ = step("Cos(Mul(pair, 0.61))");
    for (int64_t blocks = between(1, 4); blocks > 0; --blocks) x = block(blocks % 2 == 0 ? step("Sin(" + x + ")") : x);
    add("output " + x);
    for (const std::string& weights : weights_) add("output " + weights);
    return {std::move(text_), std::move(structures_)};
  }

 private:
  std::string block(const std::string& x) {
    const bool has_rows = lead_.size() == 2, is_pair = has_rows && lead_[1] == length_ && length_ > 1;
    switch (between(0, 7)) {
      case 0: return transition(x);
      case 1: return chance() ? norm(x) : gated(x);
      case 2: return has_rows ? outer_product_mean(x) : attention(x);
      case 3: return is_pair ? triangle_multiplication(x) : attention(x);
      case 4: return has_rows && lead_[1] > 1 ? tied_attention(x) : attention(x);
      case 5: return global_attention(x);
      default: return attention(x);
    }
  }

  // Of two projections of x (batch, rows, length, channels): products of all pairs of places, summed over the rows.
  std::string outer_product_mean(const std::string& x) {
    ++structures_["outer_product_mean"];
    const int64_t batch = lead_[0], rows = lead_[1], n = length_, least = n == 1 ? 2 : 1, left = between(least, 4),
                  right = between(least, 5);
    const std::string m = chance() ? norm(x) : x, a = linear(m, channels_, left), b = linear(m, channels_, right);
    const std::string at = step("Transpose(" + a + ") {perm=[0,2,3,1]}");
    const std::string p = step("MatMul(Reshape(" + at + ") {shape=[" + joined({batch, n * left, rows}, ",") +
                               "]}, Reshape(" + b + ") {shape=[" + joined({batch, rows, n * right}, ",") + "]})");
    const std::string cut = step("Reshape(" + p + ") {shape=[" + joined({batch, n, left, n, right}, ",") + "]}");
    const char* orders[] = {"[0,1,3,2,4]", "[0,1,3,4,2]", "[0,3,1,2,4]", "[0,3,1,4,2]"};
    std::string o = step("Transpose(" + cut + ") {perm=" + orders[between(0, 3)] + "}");
    o = step("Reshape(" + o + ") {shape=[" + joined({batch, n, n, left * right}, ",") + "]}");
    if (chance()) o = scaled(o, 1 / static_cast<double>(rows));
    std::string z = step("MatMul(" + o + ", " + constant({left * right, channels_}) + ")");
    if (chance()) z = step(both("Add", z, constant({channels_})));
    z = step("Reduce(" + z + ") {kind=mean, axes=[1]}");
    return step(both("Add", x, z));
  }

  // A projection times its gate, and a mask of pairs.
  std::string gated_projection(const std::string& x, int64_t columns) {
    const std::string y =
        step(both("Mul", linear(x, channels_, columns), "Sigmoid(" + linear(x, channels_, columns) + ")"));
    if (chance()) return y;
    return step(both("Mul", y, "Cast(" + kept({lead_[0], length_, length_, 1}) + ") {to=f32}"));
  }

  // Of pairs x (batch, length, length, channels), around outgoing or incoming edges.
  std::string triangle_multiplication(const std::string& x) {
    ++structures_["triangle_multiplication"];
    const std::string n = chance() ? norm(x) : x;
    const int64_t hidden = between(2, 5);
    const std::string straight = ") {perm=[0,3,1,2]}", turned = ") {perm=[0,3,2,1]}";
    const bool is_outgoing = chance();
    const std::string a = step("Transpose(" + gated_projection(n, hidden) + (is_outgoing ? straight : turned));
    const std::string b = step("Transpose(" + gated_projection(n, hidden) + (is_outgoing ? turned : straight));
    const std::string p = step("Transpose(MatMul(" + a + ", " + b + ")) {perm=[0,2,3,1]}");
    ++structures_["layer_norm"];
    const std::string y =
        linear(step("LayerNorm(" + p + ", " + constant({hidden}) + ", _) {eps=1e-05}"), hidden, channels_);
    return residual(x, chance() ? y : step(both("Mul", y, "Sigmoid(" + linear(n, channels_, channels_) + ")")));
  }
};

}  // namespace

RandomStructures random_structures(uint32_t seed) { return Writer(seed).write(); }

}  // namespace plica
