#include "loaders/onnx/emitter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/concat.h"
#include "ops/evaluate.h"
#include "ops/expand.h"
#include "ops/mat_mul.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/strided.h"
#include "ops/transpose.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

// Operands and results that are computed while lowering: indices and masks up to a greater size than floats.
bool small(const TensorType& type) { return num_bytes(type) <= (is_float(type.dtype) ? 16384 : 65536); }

std::vector<const TensorType*> types_of(const Graph& graph, const Ids& ids) {
  std::vector<const TensorType*> types;
  types.reserve(ids.size());
  for (Id id : ids) types.push_back(id == kNone ? nullptr : &graph.type(id));
  return types;
}

template <class Out, class Fn>
std::vector<Out> converted(const plica::Constant& constant, Fn&& convert) {
  std::vector<Out> numbers(static_cast<size_t>(num_elements(constant.type.shape)));
  visit_dtype(constant.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(constant.data);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if constexpr (requires { to_float(data[i]); } && !std::is_arithmetic_v<T>)
        numbers[i] = convert(to_float(data[i]));
      else
        numbers[i] = convert(data[i]);
    }
  });
  return numbers;
}

int64_t saturated(double x) {
  constexpr double kLimit = 9223372036854775808.0;
  if (std::isnan(x)) return 0;
  if (x >= kLimit) return INT64_MAX;
  return x <= -kLimit ? INT64_MIN : static_cast<int64_t>(x);
}

}  // namespace

Status check_shape(const Shape& shape) {
  constexpr int64_t kMaxElements = int64_t{1} << 58;
  int64_t count = 1;
  bool fits = shape.size() <= kMaxRank;
  for (const int64_t size : shape)
    fits = fits && size >= 0 && !(size > 0 && __builtin_mul_overflow(count, size, &count)) && count <= kMaxElements;
  if (fits) return {};
  return Error(Code::kInvalidModel, "a shape is " + to_string(shape) + ", wanted at most " + std::to_string(kMaxRank) +
                                        " sizes, none negative, of together at most 2^58 elements");
}

std::vector<int64_t> to_ints(const plica::Constant& constant) {
  return converted<int64_t>(constant, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return saturated(x);
    return static_cast<int64_t>(x);
  });
}

std::vector<double> to_doubles(const plica::Constant& constant) {
  return converted<double>(constant, [](auto x) { return static_cast<double>(x); });
}

bool Emitter::is_small(const Ids& inputs) const {
  for (Id id : inputs) {
    if (id == kNone) continue;
    if (graph_.constant(id) == nullptr || !small(graph_.type(id))) return false;
  }
  return true;
}

Result<Ids> Emitter::fold(const OpDef& op, const Attrs& attrs, const Ids& inputs) {
  std::vector<TensorView> views;
  for (Id id : inputs) {
    TensorView view;
    if (id != kNone) view = {graph_.type(id), const_cast<void*>(graph_.constant(id)->data)};
    views.push_back(view);
  }
  PLICA_TRY(std::vector<Tensor> results, compute(op, attrs, views));
  Ids ids;
  for (Tensor& result : results) ids.push_back(constant(std::move(result)));
  return ids;
}

Result<Ids> Emitter::emit(const OpDef& op, Attrs attrs, Ids inputs) {
  if (!op.variadic()) inputs.resize(std::max(inputs.size(), op.inputs.size()), kNone);
  PLICA_TRY(const Types types, infer_types(op, attrs, types_of(graph_, inputs)));
  for (const TensorType& type : types) PLICA_CHECK(check_shape(type.shape));
  if (is_small(inputs)) {
    if (std::all_of(types.begin(), types.end(), small)) return fold(op, attrs, inputs);
  }
  PLICA_TRY(const NodeId node, graph_.add_node(op, std::move(attrs), std::move(inputs), node_name_));
  return graph_.node(node).outputs;
}

Result<Id> Emitter::emit_one(const OpDef& op, Attrs attrs, Ids inputs) {
  PLICA_TRY(const Ids outputs, emit(op, std::move(attrs), std::move(inputs)));
  return outputs.front();
}

Result<Id> Emitter::emit_one(const OpDef& op, Attrs attrs, Operands inputs) {
  Ids ids;
  for (const Result<Id>& input : inputs) {
    if (!input) return input.error();
    ids.push_back(*input);
  }
  return emit_one(op, std::move(attrs), std::move(ids));
}

// Where operands do not broadcast: if one of them is a constant, the exporter has frozen a size of its example into it.
std::string Emitter::frozen_hint(const Ids& inputs) const {
  for (Id frozen : inputs) {
    if (frozen == kNone || !is_known(frozen)) continue;
    const Shape& held = graph_.type(frozen).shape;
    for (Id other : inputs) {
      if (other == kNone) continue;
      const Shape& wanted = graph_.type(other).shape;
      for (size_t i = 1; i <= std::min(held.size(), wanted.size()); ++i) {
        const int64_t have = held[held.size() - i], want = wanted[wanted.size() - i];
        if (have == want || have == 1 || want == 1) continue;
        return "; the constant " +
               (graph_.value(frozen).name.empty() ? std::string() : "'" + graph_.value(frozen).name + "' ") + "holds " +
               std::to_string(have) + " where " + std::to_string(want) +
               " are needed: sequence axis is fixed at <= " + std::to_string(have) +
               " by the export; export from a fresh model";
      }
    }
  }
  return "";
}

Result<Id> Emitter::call(ops::Fn fn, Operands inputs) {
  auto made = emit_one(pointwise_op(fn), ops::Pointwise{}, inputs);
  if (made) return made;
  Ids ids;
  for (const Result<Id>& input : inputs) {
    if (!input) return input.error();
    ids.push_back(*input);
  }
  const std::string hint = frozen_hint(ids);
  if (hint.empty()) return made;
  return Error(Code::kInvalidInput, made.error().what() + hint);
}

Result<Id> Emitter::cast(Result<Id> x, DType to) {
  if (!x || dtype(*x) == to) return x;
  return emit_one(pointwise_op(ops::Fn::kCast), ops::Cast{to}, {x});
}

Result<Id> Emitter::reshape(Result<Id> x, Shape to) {
  if (!x || graph_.type(*x).shape == to) return x;
  PLICA_CHECK(check_shape(to));
  const plica::Constant* constant = graph_.constant(*x);
  if (constant != nullptr && num_elements(constant->type.shape) == num_elements(to)) {
    // A constant of another shape shares the data.
    auto seen = std::make_shared<plica::Constant>(*constant);
    seen->key = "Reshape" + to_string(Attrs(ops::Reshape{to})) + "(" + constant->key + ")";
    seen->type.shape = std::move(to);
    return graph_.add_constant(std::move(seen), graph_.value(*x).name);
  }
  return emit_one(reshape_op, ops::Reshape{std::move(to)}, {x});
}

Result<Id> Emitter::transpose(Result<Id> x, std::vector<int64_t> perm) {
  if (!x || std::is_sorted(perm.begin(), perm.end())) return x;
  return emit_one(transpose_op, ops::Transpose{std::move(perm)}, {x});
}

Result<Id> Emitter::expand(Result<Id> x, Shape to) {
  if (!x || graph_.type(*x).shape == to) return x;
  return emit_one(expand_op, ops::Expand{std::move(to)}, {x});
}

Result<Id> Emitter::slice(Result<Id> x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  if (!x) return x;
  ops::Slice slice{std::vector<int64_t>(shape(*x).size(), 0), shape(*x), std::vector<int64_t>(shape(*x).size(), 1)};
  const auto at = static_cast<size_t>(axis);
  if (start == 0 && step == 1 && count == slice.sizes[at]) return x;
  slice.starts[at] = start;
  slice.sizes[at] = count;
  slice.steps[at] = step;
  return emit_one(slice_op, std::move(slice), {x});
}

Result<Id> Emitter::reduce(ops::ReduceKind kind, Result<Id> x, std::vector<int64_t> axes, bool keepdims) {
  if (!x || axes.empty()) return x;
  return emit_one(reduce_op, ops::Reduce{kind, std::move(axes), keepdims}, {x});
}

Result<Id> Emitter::concat(Ids inputs, int64_t axis) {
  if (inputs.size() == 1) return inputs.front();
  return emit_one(concat_op, ops::Concat{axis}, std::move(inputs));
}

Result<Id> Emitter::mat_mul(Result<Id> a, Result<Id> b) {
  return emit_one(mat_mul_op, ops::MatMul{}, {std::move(a), std::move(b)});
}

Result<Id> Emitter::swap_last(Result<Id> x) {
  if (!x) return x;
  std::vector<int64_t> perm(shape(*x).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, std::move(perm));
}

Result<Id> Emitter::scalar(double value, DType dtype) {
  PLICA_TRY(Tensor number, Tensor::zeros(dtype, {}));
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, F16>)
      *number.as<T>() = to_f16(static_cast<float>(value));
    else if constexpr (std::is_same_v<T, BF16>)
      *number.as<T>() = to_bf16(static_cast<float>(value));
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      *number.as<T>() = static_cast<T>(saturated(value));
    else
      *number.as<T>() = static_cast<T>(value);
  });
  return constant(std::move(number));
}

Result<Id> Emitter::scalar_like(double value, Result<Id> x) {
  if (!x) return x;
  return scalar(value, dtype(*x));
}

Result<Id> Emitter::int64s(const std::vector<int64_t>& values) {
  PLICA_TRY(Tensor numbers, Tensor::zeros(DType::kI64, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), numbers.as<int64_t>());
  return constant(std::move(numbers));
}

Result<Id> Emitter::full(double value, DType dtype, Shape to) { return expand(scalar(value, dtype), std::move(to)); }

bool Emitter::is_known(Id id) const { return graph_.constant(id) != nullptr || inputs_behind(id).empty(); }

std::vector<int> Emitter::inputs_behind(Id id) const {
  std::vector<int> found;
  std::vector<bool> seen(graph_.num_values(), false);
  Ids pending{id};
  while (!pending.empty()) {
    const Id next = pending.back();
    pending.pop_back();
    if (next == kNone || seen[static_cast<size_t>(next)]) continue;
    seen[static_cast<size_t>(next)] = true;
    const plica::Value& value = graph_.value(next);
    if (value.producer != kNone) {
      const Ids& inputs = graph_.node(value.producer).inputs;
      pending.insert(pending.end(), inputs.begin(), inputs.end());
    } else if (value.constant == nullptr) {
      const auto& all = graph_.inputs();
      found.push_back(static_cast<int>(std::find(all.begin(), all.end(), next) - all.begin()));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<ConstantPtr> Emitter::value_of(Id id) {
  const plica::Value& value = graph_.value(id);
  if (value.constant != nullptr) return value.constant;
  if (const auto found = evaluated_.find(id); found != evaluated_.end()) return found->second;
  if (value.producer == kNone) return Error(Code::kInternal, "the value of an input of the graph is not known");
  const plica::Node& node = graph_.node(value.producer);
  std::vector<ConstantPtr> operands;
  std::vector<TensorView> views;
  for (Id input : node.inputs) {
    if (input == kNone) {
      views.emplace_back();
      continue;
    }
    PLICA_TRY(operands.emplace_back(), value_of(input));
    views.push_back({operands.back()->type, const_cast<void*>(operands.back()->data)});
  }
  PLICA_TRY(std::vector<Tensor> results, compute(*node.op, node.attrs, views));
  for (size_t i = 0; i < results.size(); ++i) evaluated_[node.outputs[i]] = make_constant(std::move(results[i]));
  return evaluated_[id];
}

bool Emitter::is_number(Id id, double number) const {
  const plica::Constant* constant = graph_.constant(id);
  if (constant == nullptr || num_elements(constant->type.shape) != 1) return false;
  return to_doubles(*constant).front() == number;
}

}  // namespace plica::onnx
