#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "graph/scalar.h"
#include "ops/pointwise.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

bool is_short_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

double largest_of(DType dtype) {
  return dtype == DType::kF16 ? 65504.0 : dtype == DType::kBF16 ? 0x1.fep127 : 0x1.fffffep127;
}

// Element-wise constants of more elements are taken to hold nothing beyond 16 bits.
constexpr int64_t kMostLooked = 1 << 16;

bool holds_beyond(const Constant& constant, double limit) {
  const int64_t count = num_elements(constant.type.shape);
  if (!is_dense_constant(constant) || count > kMostLooked) return false;
  for (int64_t i = 0; i < count; ++i)
    if (const double value = element(constant, i); std::isfinite(value) && std::abs(value) > limit) return true;
  return false;
}

// Element i of a dense tensor of floats of up to 32 bits.
float read_float(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kF16) return to_float(static_cast<const F16*>(data)[i]);
  if (dtype == DType::kBF16) return to_float(static_cast<const BF16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

// A dense constant in another dtype; what is finite stays finite.
Result<Tensor> convert(const Constant& constant, DType dtype) {
  PLICA_TRY(Tensor to, Tensor::zeros(dtype, constant.type.shape));
  const auto largest = static_cast<float>(largest_of(dtype));
  const int64_t count = num_elements(constant.type.shape);
  for (int64_t i = 0; i < count; ++i) {
    float value = read_float(constant.type.dtype, constant.data, i);
    if (std::isfinite(value)) value = std::clamp(value, -largest, largest);
    if (dtype == DType::kF16)
      static_cast<F16*>(to.data())[i] = to_f16(value);
    else if (dtype == DType::kBF16)
      static_cast<BF16*>(to.data())[i] = to_bf16(value);
    else
      static_cast<float*>(to.data())[i] = value;
  }
  return to;
}

// What a mode stores: every float of up to 32 bits as `stored`, or, where `mixed`, only what matrix products read and make.
struct Mode {
  DType stored;
  bool mixed = false;
};

// Writes the graph anew beside itself. Element-wise operators compute in f32 between casts, which fuse_pointwise takes into
// their programs; all others take operands as they are stored.
class Restorer {
 public:
  Restorer(Graph& graph, ConstantStore& constants, Mode mode)
      : graph_(graph), constants_(constants), mode_(mode), forms_(graph.num_values()) {}

  Result<int> run() {
    if (!changes_anything()) return 0;
    for (NodeId id : graph_.order()) PLICA_CHECK(rewrite(id).context("storing '" + graph_.node(id).name + "'"));
    Patch patch(graph_);
    std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (ValueId output : outputs) {
      if (graph_.value(output).producer == kNone) continue;
      PLICA_TRY(const ValueId given, as(output, graph_.type(output).dtype));
      if (given != output) patch.replace(output, given);
    }
    PLICA_CHECK(patch.apply());
    graph_.remove_dead();
    return num_edits_;
  }

 private:
  // The new values that stand for an old one, by how they are stored; kNone where there is none yet.
  struct Forms {
    ValueId wide = kNone;    // f32, made by an element-wise operator and not for keeping
    ValueId stored = kNone;  // as the mode stores it
    ValueId plain = kNone;   // of another dtype than floats of up to 32 bits, or kept as it was
    bool large = false;      // may hold finite values beyond those of the stored dtype
  };

  bool changes_anything() const {
    for (size_t i = 0; i < graph_.num_values(); ++i) {
      const DType dtype = graph_.type(static_cast<ValueId>(i)).dtype;
      if (is_short_float(dtype) && dtype != mode_.stored) return true;
    }
    return false;
  }

  Forms& forms(ValueId id) {
    if (forms_.size() < graph_.num_values()) forms_.resize(graph_.num_values());
    return forms_[static_cast<size_t>(id)];
  }

  static bool is_matrix_op(const Node& node) { return has_residual(node) || node.op == &attention_op; }
  // Whether the last operand is one.
  static bool has_residual(const Node& node) {
    return node.op == &mat_mul_op || node.op == &gated_mat_mul_op || node.op == &outer_product_mean_op;
  }

  // What the operands and results of a node are stored as.
  DType stored_for(const Node& node) {
    if (!mode_.mixed || is_matrix_op(node)) return mode_.stored;
    if (!node.op->is_view) return DType::kF32;
    const Forms& from = forms(node.inputs[0]);
    return from.stored != kNone && from.wide == kNone ? mode_.stored : DType::kF32;
  }

  // A constant in another dtype, made once for the model.
  Result<ValueId> converted(ValueId id, DType dtype) {
    const ConstantPtr constant = graph_.value(id).constant;
    if (constant->type.dtype == dtype) return id;
    const std::string key = key_of(*constant, {dtype});
    PLICA_TRY(ConstantPtr made, constants_.get(key, [&]() -> Result<ConstantPtr> {
      PLICA_TRY(const ConstantPtr source, constants_.borrowed(constant));
      PLICA_TRY(Tensor tensor, convert(*source, dtype));
      return make_constant(std::move(tensor), key);
    }));
    return graph_.add_constant(std::move(made));
  }
  static std::string key_of(const Constant& constant, const ops::Cast& cast) {
    return "Cast" + to_string(Attrs(cast)) + "(" + constant.key + ")";
  }

  Result<ValueId> add(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    PLICA_TRY(const NodeId node, graph_.add_node(op, std::move(attrs), std::move(inputs), name));
    return graph_.node(node).outputs[0];
  }

  Result<ValueId> cast(ValueId id, DType dtype) {
    return add(pointwise_op(ops::Fn::kCast), ops::Cast{dtype}, {id}, "");
  }

  // As `dtype`, finite values kept finite.
  Result<ValueId> cast_within(ValueId id, DType dtype) {
    const auto call = [&](ops::Fn fn, std::vector<ValueId> inputs) {
      return add(pointwise_op(fn), ops::Pointwise{}, std::move(inputs), "");
    };
    PLICA_TRY(ConstantPtr low, scalar_constant(-largest_of(dtype), DType::kF32));
    PLICA_TRY(ConstantPtr high, scalar_constant(largest_of(dtype), DType::kF32));
    PLICA_TRY(const ValueId above, call(ops::Fn::kMax, {id, graph_.add_constant(std::move(low))}));
    PLICA_TRY(const ValueId within, call(ops::Fn::kMin, {above, graph_.add_constant(std::move(high))}));
    PLICA_TRY(const ValueId infinite, call(ops::Fn::kIsInf, {id}));
    PLICA_TRY(const ValueId chosen, call(ops::Fn::kWhere, {infinite, id, within}));
    return cast(chosen, dtype);
  }

  // What stands for the old value `id`, as `dtype` where it is a float of up to 32 bits.
  Result<ValueId> as(ValueId id, DType dtype) {
    if (id == kNone || !is_short_float(graph_.type(id).dtype))
      return id == kNone || forms(id).plain == kNone ? id : forms(id).plain;
    if (graph_.constant(id) != nullptr) return converted(id, dtype);
    if (graph_.value(id).producer == kNone && graph_.type(id).dtype == dtype) return id;
    const Forms now = forms(id);
    if (dtype == DType::kF32 && now.wide != kNone) return now.wide;
    if (dtype == mode_.stored && now.stored != kNone) return now.stored;
    const ValueId from = now.wide != kNone ? now.wide : now.stored != kNone ? now.stored : id;
    const bool narrows = graph_.type(from).dtype == DType::kF32 && now.large;
    PLICA_TRY(const ValueId made, narrows ? cast_within(from, dtype) : cast(from, dtype));
    if (dtype == mode_.stored) forms(id).stored = made;
    return made;
  }

  // What an element-wise operator reads. Vectors are stored as all else is, numbers become part of the program.
  Result<ValueId> operand(ValueId id) {
    const Constant* constant = graph_.constant(id);
    const bool stays = constant == nullptr || mode_.mixed || !is_short_float(constant->type.dtype) ||
                       num_elements(constant->type.shape) == 1 || mode_.stored == DType::kF32 ||
                       holds_beyond(*constant, largest_of(mode_.stored));
    if (stays) return as(id, DType::kF32);
    PLICA_TRY(const ValueId stored, converted(id, mode_.stored));
    return cast(stored, DType::kF32);
  }

  // Whether a result of an element-wise operator is read by one other alone, which takes it into its program.
  bool is_inner(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.users.size() != 1 || graph_.is_output(id)) return false;
    const Node& user = graph_.node(value.users[0]);
    return is_pointwise(*user.op) && graph_.type(user.outputs[0]).shape == value.type.shape;
  }

  // Whether finite values beyond the stored dtype's may come out of the node.
  bool may_be_large(const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (input == kNone || !is_short_float(graph_.type(input).dtype)) return false;
      if (const Constant* constant = graph_.constant(input)) return holds_beyond(*constant, largest_of(mode_.stored));
      return forms(input).large;
    });
  }

  Status rewrite(NodeId id) {
    const Node node = graph_.node(id);
    if (is_pointwise(*node.op)) return rewrite_pointwise(node);
    const DType dtype = stored_for(node);
    Node changed = node;
    ValueId residual = kNone;
    if (mode_.mixed && has_residual(node)) std::swap(residual, changed.inputs.back());
    std::vector<ValueId> inputs;
    for (ValueId input : changed.inputs) {
      PLICA_TRY(const ValueId made, as(input, dtype));
      inputs.push_back(made);
    }
    const bool floats = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId output) { return is_short_float(graph_.type(output).dtype); });
    if (inputs == node.inputs && (!floats || graph_.type(node.outputs[0]).dtype == dtype)) return keep(node, dtype);
    PLICA_TRY(const NodeId made, graph_.add_node(*node.op, node.attrs, inputs, node.name));
    ++num_edits_;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      set(node.outputs[i], graph_.node(made).outputs[i], node.op->is_view && forms(node.inputs[0]).large);
    return residual == kNone ? Status{} : add_residual(node, residual);
  }

  Status keep(const Node& node, DType dtype) {
    for (ValueId output : node.outputs)
      if (is_short_float(graph_.type(output).dtype) && graph_.type(output).dtype == dtype) set(output, output, false);
    return {};
  }

  void set(ValueId old, ValueId made, bool large) {
    const DType dtype = graph_.type(made).dtype;
    Forms& to = forms(old);
    to.large = large;
    (!is_short_float(dtype) ? to.plain : dtype == mode_.stored ? to.stored : to.wide) = made;
  }

  // The residual stream stays f32: the sum is an operator of its own.
  Status add_residual(const Node& node, ValueId residual) {
    const ValueId old = node.outputs[0];
    PLICA_TRY(const ValueId product, cast(forms(old).stored, DType::kF32));
    PLICA_TRY(const ValueId rest, as(residual, DType::kF32));
    PLICA_TRY(const ValueId sum, add(pointwise_op(ops::Fn::kAdd), ops::Pointwise{}, {product, rest}, node.name));
    forms(old) = {};
    forms(old).wide = sum;
    return {};
  }

  // A cast between floats of up to 32 bits is nothing where what it reads is there as the mode stores it.
  bool takes_over(ValueId from, ValueId to) {
    const bool is_given = graph_.value(from).producer == kNone && graph_.constant(from) == nullptr;
    Forms taken = forms(from);
    if (is_given && graph_.type(from).dtype == mode_.stored) taken.stored = from;
    if (taken.stored == kNone) return false;
    forms(to) = taken;
    ++num_edits_;
    return true;
  }

  Status rewrite_pointwise(const Node& node) {
    const ValueId old = node.outputs[0];
    const bool float_result = is_short_float(graph_.type(old).dtype);
    if (float_result && fn_of(*node.op) == ops::Fn::kCast && takes_over(node.inputs[0], old)) return {};
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      PLICA_TRY(const ValueId made, operand(input));
      inputs.push_back(made);
    }
    const bool large = may_be_large(node);
    ValueId made = old;
    if (float_result && fn_of(*node.op) == ops::Fn::kCast) {
      made = graph_.type(inputs[0]).dtype == DType::kF32 ? inputs[0] : kNone;
      if (made == kNone) {
        PLICA_TRY(made, cast(inputs[0], DType::kF32));
      }
    } else if (inputs != node.inputs || (float_result && graph_.type(old).dtype != DType::kF32)) {
      PLICA_TRY(made, add(*node.op, node.attrs, std::move(inputs), node.name));
    }
    if (made != old) ++num_edits_;
    if (!float_result) return forms(old).plain = made, Status{};
    forms(old).wide = made;
    forms(old).large = large;
    if (mode_.mixed || mode_.stored == DType::kF32 || is_inner(old)) return {};
    if (!only_output(old)) {
      PLICA_TRY(const ValueId stored, as(old, mode_.stored));
      forms(old).stored = stored;
    }
    if (!graph_.is_output(old)) forms(old).wide = kNone;
    return {};
  }

  bool only_output(ValueId id) const { return graph_.value(id).users.empty(); }

  Graph& graph_;
  ConstantStore& constants_;
  const Mode mode_;
  std::vector<Forms> forms_;  // by old value
  int num_edits_ = 0;
};

}  // namespace

// Floats of up to 32 bits are stored as a precision wants them; inputs and outputs of the graph keep their dtype. Moments,
// softmax and sums are in f32 inside the kernels whatever is stored.
Result<int> store_f32(Graph& graph, ConstantStore& constants) {
  return Restorer(graph, constants, {DType::kF32}).run();
}
Result<int> store_bf16(Graph& graph, ConstantStore& constants) {
  return Restorer(graph, constants, {DType::kBF16}).run();
}
Result<int> store_bf16_mixed(Graph& graph, ConstantStore& constants) {
  return Restorer(graph, constants, {DType::kBF16, true}).run();
}
Result<int> store_f16(Graph& graph, ConstantStore& constants) {
  return Restorer(graph, constants, {DType::kF16}).run();
}

}  // namespace plica
