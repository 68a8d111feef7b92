#include <algorithm>
#include <cmath>
#include <mutex>

#include "graph/passes/passes.h"
#include "graph/scalar.h"
#include "ops/layer_norm.h"
#include "ops/mat_mul.h"
#include "ops/rms_norm.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// A matrix whose rows are scaled as a norm ahead of it scales what it multiplies, and the bias with what the norm adds.
struct Folding {
  ConstantPtr weight, gamma, beta, bias;  // (K, N), (K), (K), (N); the last three may be absent
  std::mutex mutex;
  ConstantPtr made_bias;  // a by-product of the matrix: whoever makes that reads all that the bias needs
};

const float* floats_of(const ConstantPtr& constant) {
  return constant == nullptr ? nullptr : static_cast<const float*>(constant->data);
}

// The scaled matrix, where `scaled` is there, and the bias.
Status make_parts(Folding& folding, Tensor* scaled, const std::string& bias_key) {
  const ConstantPtr& weight = folding.weight;
  PLICA_TRY(const ConstantPtr source, weight->make != nullptr ? weight->make() : Result<ConstantPtr>(weight));
  const int64_t rows = source->type.shape[0], columns = source->type.shape[1];
  PLICA_TRY(Tensor bias, Tensor::zeros(DType::kF32, {columns}));
  const float *from = floats_of(source), *gamma = floats_of(folding.gamma), *beta = floats_of(folding.beta);
  auto* sums = static_cast<float*>(bias.data());
  if (const float* first = floats_of(folding.bias)) std::copy_n(first, columns, sums);
  for (int64_t k = 0; k < rows; ++k, from += columns) {
    if (beta != nullptr)
      for (int64_t n = 0; n < columns; ++n) sums[n] += beta[k] * from[n];
    if (scaled == nullptr) continue;
    float* to = static_cast<float*>(scaled->data()) + k * columns;
    const float factor = gamma != nullptr ? gamma[k] : 1.0f;
    for (int64_t n = 0; n < columns; ++n) to[n] = factor * from[n];
  }
  const std::lock_guard lock(folding.mutex);
  folding.made_bias = make_constant(std::move(bias), bias_key);
  return {};
}

std::string key_of(const ConstantPtr& constant) { return constant == nullptr ? "_" : constant->key; }

// What is large is deferred, and so is its bias: whoever converts both has the source read once.
Result<ConstantPtr> settled(const ConstantPtr& weight, Constant deferred) {
  constexpr size_t kDeferredBytes = size_t{256} << 10;
  if (num_bytes(weight->type) < kDeferredBytes) return deferred.make();
  return std::make_shared<const Constant>(std::move(deferred));
}

Result<ConstantPtr> scaled_weight(const std::shared_ptr<Folding>& folding, const std::string& bias_key,
                                  ConstantStore& constants) {
  if (folding->gamma == nullptr) return folding->weight;
  const std::string key = "ScaledRows(" + key_of(folding->weight) + "," + key_of(folding->gamma) + ")";
  return constants.get(key, [&]() -> Result<ConstantPtr> {
    Constant deferred{folding->weight->type, nullptr, nullptr, key, [=]() -> Result<ConstantPtr> {
                        PLICA_TRY(Tensor scaled, Tensor::zeros(DType::kF32, folding->weight->type.shape));
                        PLICA_CHECK(make_parts(*folding, &scaled, bias_key));
                        return make_constant(std::move(scaled), key);
                      }};
    return settled(folding->weight, std::move(deferred));
  });
}

Result<ConstantPtr> shifted_bias(const std::shared_ptr<Folding>& folding, const std::string& key,
                                 ConstantStore& constants) {
  if (folding->beta == nullptr) return folding->bias;
  return constants.get(key, [&]() -> Result<ConstantPtr> {
    const TensorType type{DType::kF32, {folding->weight->type.shape[1]}, {}};
    Constant deferred{type, nullptr, nullptr, key, [=]() -> Result<ConstantPtr> {
                        const auto made = [&] {
                          const std::lock_guard lock(folding->mutex);
                          return folding->made_bias;
                        };
                        if (made() == nullptr) PLICA_CHECK(make_parts(*folding, nullptr, key));
                        return made();
                      }};
    return settled(folding->weight, std::move(deferred));
  });
}

// Columns of a matrix that stand for all of it: several side by side, so that a row of them is a line or two of memory.
std::vector<int64_t> sampled_columns(int64_t num) {
  constexpr int64_t kParts = 4, kSide = 16;
  std::vector<int64_t> columns;
  for (int64_t i = 0; i < std::min(num, kParts * kSide); ++i)
    columns.push_back(num <= kParts * kSide ? i : i / kSide * (num - kSide) / (kParts - 1) + i % kSide);
  return columns;
}

// The folded product's squared error beside that of norm and product apart, by what is rounded to bf16, each off by the same part of
// itself: factors, offsets and what is multiplied where they are apart, else the normed values; the matrix, the bias, the result.
// Normed values are of size 1.
float error_growth(const Folding& folding) {
  const float *weight = floats_of(folding.weight), *gamma = floats_of(folding.gamma), *beta = floats_of(folding.beta),
              *bias = floats_of(folding.bias);
  const int64_t rows = folding.weight->type.shape[0], columns = folding.weight->type.shape[1];
  double apart = 0, folded = 0;
  for (const int64_t n : sampled_columns(columns)) {
    const double first = bias != nullptr ? bias[n] : 0;
    double scaled = 0, shifted = 0, whole = first;
    for (int64_t k = 0; k < rows; ++k) {
      const double w = weight[k * columns + n], by_gamma = w * (gamma != nullptr ? gamma[k] : 1), by_beta = w * beta[k];
      scaled += by_gamma * by_gamma, shifted += by_beta * by_beta, whole += by_beta;
    }
    const double result = scaled + whole * whole;
    apart += 3 * (scaled + shifted) + first * first + result;
    folded += 2 * scaled + whole * whole + result;
  }
  return static_cast<float>(folded / apart);
}

// Whether what a norm adds may go into the bias: a sum that is large beside its terms is rounded more coarsely than they are. A
// deferred matrix is not made for that.
Result<bool> is_fine_bias(const Folding& folding, ConstantStore& constants) {
  if (folding.beta == nullptr || folding.weight->data == nullptr) return true;
  const std::string key = "FoldedError(" + key_of(folding.weight) + "," + key_of(folding.gamma) + "," +
                          key_of(folding.beta) + "," + key_of(folding.bias) + ")";
  PLICA_TRY(const ConstantPtr growth, constants.get(key, [&]() -> Result<ConstantPtr> {
    PLICA_TRY(Tensor number, Tensor::zeros(DType::kF32, {1}));
    *number.as<float>() = error_growth(folding);
    return make_constant(std::move(number), key);
  }));
  return !(*floats_of(growth) > 1);
}

// Whether a vector of f32 is there to read, or absent.
bool is_plain(const Graph& graph, ValueId id, int64_t size) {
  if (id == kNone) return true;
  const Constant* constant = graph.constant(id);
  return constant != nullptr && is_dense_constant(*constant) && constant->type.dtype == DType::kF32 &&
         constant->type.shape == Shape{size};
}

// The factors are numbers, the largest of them near 1.
bool is_mild(const Graph& graph, ValueId gamma) {
  if (gamma == kNone) return true;
  const Constant& constant = *graph.constant(gamma);
  double largest = 0;
  for (int64_t i = 0; i < constant.type.shape[0]; ++i) {
    const double factor = std::abs(element(constant, i));
    if (!std::isfinite(factor)) return false;
    largest = std::max(largest, factor);
  }
  return largest > 0x1p-5 && largest < 0x1p6;
}

// A product by a matrix of the file's that nobody else reads.
bool is_projection_of(const Graph& graph, NodeId id, ValueId input) {
  const Node& node = graph.node(id);
  if (node.op != &mat_mul_op || node.inputs[0] != input || node.attrs.as<ops::MatMul>().alpha != 1) return false;
  if (std::count(node.inputs.begin(), node.inputs.end(), input) != 1) return false;
  const Constant* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type.dtype != DType::kF32 || weight->type.shape.size() != 2) return false;
  return is_dense(weight->type) && graph.value(node.inputs[1]).users.size() == 1 &&
         is_plain(graph, node.inputs[2], weight->type.shape[1]);
}

bool is_foldable(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != &layer_norm_op && node.op != &rms_norm_op) return false;
  const ValueId normed = node.outputs[0];
  const int64_t width = graph.type(normed).shape.back();
  if (std::all_of(node.inputs.begin() + 1, node.inputs.end(), [](ValueId input) { return input == kNone; }))
    return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (!is_plain(graph, node.inputs[i], width)) return false;
  const auto& users = graph.value(normed).users;
  return !graph.is_output(normed) && !users.empty() && is_mild(graph, node.inputs[1]) &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) { return is_projection_of(graph, user, normed); });
}

std::shared_ptr<Folding> folding_of(const Graph& graph, const Node& norm, NodeId product) {
  const auto constant_of = [&](ValueId id) { return id == kNone ? nullptr : graph.value(id).constant; };
  const std::vector<ValueId>& inputs = graph.node(product).inputs;
  auto folding = std::make_shared<Folding>();
  folding->weight = constant_of(inputs[1]);
  folding->bias = constant_of(inputs[2]);
  folding->gamma = constant_of(norm.inputs[1]);
  folding->beta = norm.inputs.size() > 2 ? constant_of(norm.inputs[2]) : nullptr;
  return folding;
}

Status fold_into(Graph& graph, const std::shared_ptr<Folding>& folding, NodeId product, ConstantStore& constants) {
  const std::string bias_key =
      "ShiftedBias(" + key_of(folding->weight) + "," + key_of(folding->beta) + "," + key_of(folding->bias) + ")";
  PLICA_TRY(ConstantPtr weight, scaled_weight(folding, bias_key, constants));
  PLICA_TRY(ConstantPtr bias, shifted_bias(folding, bias_key, constants));
  graph.set_input(product, 1, graph.add_constant(std::move(weight)));
  if (bias != nullptr) graph.set_input(product, 2, graph.add_constant(std::move(bias)));
  return {};
}

}  // namespace

// Factors and offsets of a norm become those of the products that alone read it, before their weights are rounded to bf16: what is
// left of the norm can be had from the product's sums and the moments of its rows.
Result<int> fold_norms(Graph& graph, ConstantStore& constants) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    if (!is_foldable(graph, id)) continue;
    const Node norm = graph.node(id);
    const std::vector<NodeId> users(graph.value(norm.outputs[0]).users.begin(),
                                    graph.value(norm.outputs[0]).users.end());
    std::vector<std::shared_ptr<Folding>> foldings;
    bool is_fine = true;
    for (NodeId user : users) {
      foldings.push_back(folding_of(graph, norm, user));
      PLICA_TRY(const bool fine, is_fine_bias(*foldings.back(), constants));
      is_fine &= fine;
    }
    if (!is_fine) continue;
    for (size_t i = 0; i < users.size(); ++i) PLICA_CHECK(fold_into(graph, foldings[i], users[i], constants));
    for (size_t i = 1; i < norm.inputs.size(); ++i) graph.set_input(id, i, kNone);
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
