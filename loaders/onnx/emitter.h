#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "runtime/core/result.h"

namespace plica::onnx {

using Id = plica::ValueId;  // of the graph under construction
using Ids = std::vector<Id>;

// Adds small operators to a graph whose shapes are all known. What depends on small constants only is computed at once;
// weight expressions stay nodes. Operands may be results of other calls: the first error among them is the result.
class Emitter {
 public:
  using Operands = std::initializer_list<Result<Id>>;

  const Graph& graph() const { return graph_; }
  DType dtype(Id id) const { return graph_.type(id).dtype; }
  Shape shape(Id id) const { return graph_.type(id).shape; }
  int64_t rank(Id id) const { return static_cast<int64_t>(graph_.type(id).shape.size()); }
  int64_t size(Id id, int64_t axis) const { return graph_.type(id).shape[static_cast<size_t>(axis)]; }

  // `inputs` may hold kNone for optional operands.
  Result<Ids> emit(const OpDef& op, Attrs attrs, Ids inputs);
  Result<Id> emit_one(const OpDef& op, Attrs attrs, Operands inputs);
  Result<Id> emit_one(const OpDef& op, Attrs attrs, Ids inputs);

  // An element-wise primitive. Operands broadcast; an error says where a constant of the file keeps them from fitting.
  Result<Id> call(ops::Fn fn, Operands inputs);
  Result<Id> add(Result<Id> a, Result<Id> b) { return call(ops::Fn::kAdd, {std::move(a), std::move(b)}); }
  Result<Id> sub(Result<Id> a, Result<Id> b) { return call(ops::Fn::kSub, {std::move(a), std::move(b)}); }
  Result<Id> mul(Result<Id> a, Result<Id> b) { return call(ops::Fn::kMul, {std::move(a), std::move(b)}); }
  Result<Id> div(Result<Id> a, Result<Id> b) { return call(ops::Fn::kDiv, {std::move(a), std::move(b)}); }
  Result<Id> cast(Result<Id> x, DType to);

  // Each gives x itself where there is nothing to do.
  Result<Id> reshape(Result<Id> x, Shape shape);
  Result<Id> transpose(Result<Id> x, std::vector<int64_t> perm);
  Result<Id> expand(Result<Id> x, Shape shape);
  Result<Id> slice(Result<Id> x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
  Result<Id> reduce(ops::ReduceKind kind, Result<Id> x, std::vector<int64_t> axes, bool keepdims);
  Result<Id> concat(Ids inputs, int64_t axis);
  Result<Id> mat_mul(Result<Id> a, Result<Id> b);  // of ranks 2 or more
  Result<Id> swap_last(Result<Id> x);              // x with its last two axes swapped

  void note(std::string structure) { graph_.note(std::move(structure)); }

  Id constant(Tensor tensor) { return graph_.add_constant(make_constant(std::move(tensor))); }
  Result<Id> scalar(double value, DType dtype);
  Result<Id> scalar_like(double value, Result<Id> x);  // of x's dtype
  Result<Id> int64s(const std::vector<int64_t>& values);
  Result<Id> full(double value, DType dtype, Shape shape);  // a scalar, expanded

  // Whether the value hangs on no input of the graph. Then value_of gives it, computed where it is an expression.
  bool is_known(Id id) const;
  Result<ConstantPtr> value_of(Id id);
  std::vector<int> inputs_behind(Id id) const;  // the graph inputs that the value of `id` hangs on, by their indices

  // True where value is a constant of a single element equal to `number`.
  bool is_number(Id id, double number) const;

 protected:
  Graph graph_;
  std::string node_name_;  // of the nodes added next

 private:
  Result<Ids> fold(const OpDef& op, const Attrs& attrs, const Ids& inputs);
  bool is_small(const Ids& inputs) const;
  std::string frozen_hint(const Ids& inputs) const;

  std::unordered_map<Id, ConstantPtr> evaluated_;
};

// kInvalidModel where a shape has a negative size, more axes than kernels count, or more bytes than can be addressed.
Status check_shape(const Shape& shape);

// Numbers out of a constant, whatever its dtype; integers saturate from floats.
std::vector<int64_t> to_ints(const plica::Constant& constant);
std::vector<double> to_doubles(const plica::Constant& constant);

}  // namespace plica::onnx
