#include "runtime/exec/draft.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/copy.h"
#include "ops/view.h"
#include "runtime/core/shape.h"
#include "runtime/exec/alignment.h"
#include "runtime/exec/constant_view.h"
#include "runtime/exec/kernel_choice.h"
#include "runtime/exec/layout.h"
#include "runtime/exec/parts.h"

namespace plica {
namespace {

using Kind = Place::Kind;

class Drafter {
 public:
  Drafter(const Graph& graph, const PlanOptions& options, ConstantStore& constants)
      : graph_(graph), options_(options), constants_(constants) {
    values_.resize(graph.num_values());
    dense_.resize(graph.num_values());
    uses_.resize(graph.num_values());
    is_result_.resize(graph.num_values());
  }

  Result<Draft> draft(const std::vector<NodeId>& order) {
    place_given_values();
    if (!options_.reference) parts_ = find_parts(graph_, order);
    for (NodeId id : order) {
      const Node& node = graph_.node(id);
      const bool is_made = !node.outputs.empty() && parts_.wholes.count(node.outputs[0]) != 0;
      Status status = {};
      if (is_made)
        set_value(node.outputs[0], place_of_whole(node.outputs[0]));
      else
        status = node.op->is_view ? plan_view(node) : plan_step(node);
      if (!status) return std::move(status).context(describe(node)).take_error();
      release_inputs(node);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) PLICA_CHECK(place_output(i));
    return std::move(draft_);
  }

 private:
  static size_t at(int32_t id) { return static_cast<size_t>(id); }

  static std::string describe(const Node& node) {
    return "planning " + std::string(node.op->name) + " '" + node.name + "'";
  }

  Kernels kernels_of(const OpDef& op) const { return kernels(op, options_.device.device); }

  Buffer& buffer_of(const Place& place) { return draft_.buffers[at(place.index)]; }

  Place add_buffer(Buffer buffer, TensorType type) {
    draft_.buffers.push_back(buffer);
    return {buffer.kind, static_cast<int>(draft_.buffers.size()) - 1, 0, nullptr, std::move(type), nullptr};
  }

  void place_given_values() {
    for (size_t i = 0; i < values_.size(); ++i)
      uses_[i] = static_cast<int>(graph_.value(static_cast<ValueId>(i)).users.size());
    for (ValueId output : graph_.outputs()) {
      ++uses_[at(output)];
      ValueId root = output;
      for (NodeId maker = graph_.value(root).producer; maker != kNone && graph_.node(maker).op->is_view;
           maker = graph_.value(root).producer)
        root = graph_.node(maker).inputs[0];
      is_result_[at(root)] = true;
    }
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ValueId id = graph_.inputs()[i];
      const size_t bytes = on_host_ ? 0 : num_bytes(graph_.type(id));
      set_value(id, add_buffer({Kind::kInput, static_cast<int>(i), bytes, 0, false}, graph_.type(id)));
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& value = graph_.value(static_cast<ValueId>(i));
      if (value.constant != nullptr) values_[i] = constant_place(value.constant);
    }
  }

  static Place constant_place(ConstantPtr constant) {
    const TensorType type = constant->type;
    return {Kind::kConstant, 0, 0, std::move(constant), type, nullptr};
  }

  void set_value(ValueId id, Place place) {
    if (place.kind != Kind::kConstant) buffer_of(place).uses += uses_[at(id)];
    values_[at(id)] = std::move(place);
  }

  void release_inputs(const Node& node) {
    for (ValueId id : node.inputs)
      if (id != kNone && values_[at(id)].kind != Kind::kConstant) --buffer_of(values_[at(id)]).uses;
  }

  Status plan_view(const Node& node) {
    const ValueId input = node.inputs[0];
    PLICA_CHECK(keep_constant(values_[at(input)]));
    std::optional<Place> place = view_of(node, values_[at(input)]);
    if (!place) {
      PLICA_TRY(const Place dense, dense_place(input, node.name));
      place = view_of(node, dense);
    }
    if (place->kind == Kind::kConstant) place = constant_view(*place);
    set_value(node.outputs[0], *std::move(place));
    return {};
  }

  // What the view operator makes of `base`: the same memory with another offset and other strides; nullopt where it cannot.
  static std::optional<Place> view_of(const Node& node, const Place& base) {
    std::optional<View> view = view_through(*node.op, node.attrs, base.type);
    if (!view) return std::nullopt;
    Place place = base;
    place.type = std::move(view->type);
    place.offset_bytes += view->offset * static_cast<int64_t>(size_of(place.type.dtype));
    return place;
  }

  // The value without gaps: where it lies, or a copy that every reader who asks shares.
  Result<Place> dense_place(ValueId id, const std::string& name) {
    Place& place = values_[at(id)];
    if (is_dense(place.type)) return place;
    if (dense_[at(id)].kind != Kind::kAbsent) return dense_[at(id)];
    if (place.kind == Kind::kConstant) {
      PLICA_CHECK(keep_constant(place));
      PLICA_TRY(ConstantPtr constant, dense_constant(*place.constant, constants_));
      return dense_[at(id)] = constant_place(std::move(constant));
    }
    const TensorType type{place.type.dtype, place.type.shape, {}};
    Place copy = add_buffer({Kind::kArena, 0, num_bytes(type), 1, false}, type);
    PLICA_CHECK(add_copy(place, copy, name));
    return dense_[at(id)] = std::move(copy);
  }

  // A place on a deferred constant gets its value, which stays with the model.
  Status keep_constant(Place& place) {
    if (place.kind != Kind::kConstant) return {};
    PLICA_TRY(place.constant, constants_.kept(place.constant));
    return {};
  }

  Status add_copy(const Place& from, const Place& to, const std::string& name) {
    Step step;
    step.op = &copy_op;
    step.attrs = ops::Copy{};
    step.name = name;
    step.in = {from};
    step.out = {to};
    KernelRequest request{step.op,         step.attrs.get(), kernels_of(*step.op), {operand(from)}, {to.type}, {{}},
                          {alignment(to)}, &options_};
    PLICA_TRY(KernelChoice choice, choose_kernel(request));
    return add_step(std::move(step), std::move(choice));
  }

  // Where the result of a Concat stands: over what its parts add to, where that gives way, else in memory of its own.
  const Place& place_of_whole(ValueId whole) {
    Place& place = wholes_[whole];
    if (place.kind != Kind::kAbsent) return place;
    const TensorType& type = graph_.type(whole);
    const ValueId base = parts_.wholes.at(whole);
    if (base != kNone && !is_result_[at(whole)] && values_[at(base)].type == type && owns_memory(values_[at(base)]))
      return place = values_[at(base)];
    parts_.wholes[whole] = kNone;
    return place = add_buffer({Kind::kArena, 0, num_bytes(type), 0, is_result_[at(whole)]}, type);
  }

  bool owns_memory(const Place& place) {
    return place.kind == Kind::kArena && place.offset_bytes == 0 && !buffer_of(place).is_result;
  }

  // Where a part stands in its whole.
  Place place_of_part(ValueId id) {
    const Part& part = parts_.parts.at(id);
    Place place = place_of_whole(part.whole);
    const Strides strides = dense_strides(place.type.shape);
    place.type = normalised({place.type.dtype, graph_.type(id).shape, strides});
    place.offset_bytes = part.start * strides[part.axis] * static_cast<int64_t>(size_of(place.type.dtype));
    return place;
  }

  int64_t alignment(const Place& place) const { return known_alignment(place, draft_.buffers, on_host_); }
  Operand operand(const Place& place) const { return operand_at(place, draft_.buffers, on_host_); }

  Status plan_step(const Node& node) {
    Step step;
    step.op = node.op;
    step.attrs = node.attrs;
    step.name = node.name;
    KernelRequest request{node.op, node.attrs.get(), kernels_of(*node.op), {}, {}, {}, {}, &options_};
    for (ValueId id : node.inputs) step.in.push_back(id == kNone ? Place{} : values_[at(id)]);
    for (const Place& place : step.in) request.in.push_back(operand(place));
    for (ValueId id : node.outputs) {
      request.out.push_back(graph_.type(id));
      if (is_part(id)) {
        const Place part = place_of_part(id);
        request.preferred.push_back(part.type.strides);
        request.out_alignments.push_back(alignment(part));
        continue;
      }
      request.preferred.push_back(options_.reference ? Strides{} : preferred_strides(graph_, id, row_bytes_));
      request.out_alignments.push_back(is_result_[at(id)] ? bound_alignment(graph_.type(id), on_host_) : 64);
    }
    PLICA_TRY(KernelChoice choice, choose_kernel(request));
    for (size_t i : choice.to_copy) {
      PLICA_TRY(step.in[i], dense_place(node.inputs[i], node.name));
    }
    std::vector<std::pair<Place, Place>> copies;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      TensorType type = graph_.type(node.outputs[i]);
      if (choice.takes_preferred) type.strides = request.preferred[i];
      const bool stands_in_whole = is_part(node.outputs[i]);
      int reused = i == 0 && !stands_in_whole ? reusable_input(node, step, *choice.kernel, type) : -1;
      if (i == 0 && !stands_in_whole && reused < 0) reused = strided_input(node, step, *choice.kernel, type);
      Place place;
      if (stands_in_whole && request.preferred[i] == type.strides && may_write(node.outputs[i], step, *choice.kernel)) {
        place = place_of_part(node.outputs[i]);
      } else if (reused >= 0) {
        place = step.in[at(reused)];
        place.type = type;
        buffer_of(place).is_result |= is_result_[at(node.outputs[i])];
      } else {
        const size_t bytes = extent_bytes(type);
        place = add_buffer({Kind::kArena, 0, bytes, 0, is_result_[at(node.outputs[i])]}, std::move(type));
        if (stands_in_whole) copies.emplace_back(place, place_of_part(node.outputs[i]));
        if (stands_in_whole) begun_.insert(parts_.parts.at(node.outputs[i]).whole);
      }
      set_value(node.outputs[i], place);
      step.out.push_back(std::move(place));
    }
    PLICA_CHECK(add_step(std::move(step), std::move(choice)));
    for (const auto& [from, to] : copies) PLICA_CHECK(add_copy(from, to, node.name));
    return {};
  }

  bool is_part(ValueId id) const { return parts_.parts.count(id) != 0; }

  static bool share_memory(const Place& a, const Place& b) {
    return a.kind == Kind::kArena && a.kind == b.kind && a.index == b.index;
  }

  // Whether the kernel may write a part where it stands: what it adds to may stand there too, nothing else that it reads.
  bool may_write(ValueId id, const Step& step, const Kernel& kernel) {
    Place part = place_of_part(id);
    int num_shared = 0;
    bool in_place = true;
    for (size_t i = 0; i < step.in.size(); ++i) {
      if (!share_memory(step.in[i], part)) continue;
      ++num_shared;
      in_place = i < 32 && (kernel.in_place >> i & 1) != 0 && step.in[i].offset_bytes == part.offset_bytes &&
                 step.in[i].type == part.type;
    }
    const ValueId whole = parts_.parts.at(id).whole;
    if (parts_.wholes[whole] == kNone || (num_shared == 1 && in_place)) return begun_.insert(whole), true;
    if (begun_.count(whole) != 0) return false;
    parts_.wholes[whole] = kNone;  // none of it is written yet: it stands elsewhere
    wholes_[whole] = {};
    return begun_.insert(whole), true;
  }

  // The input whose memory the first result may take over because nobody reads it any more; -1: none. Where work is queued that
  // may become memory of an output: it is written as soon as the input is made. On the host it might be less aligned than the
  // kernels so far were promised.
  int reusable_input(const Node& node, const Step& step, const Kernel& kernel, const TensorType& out) {
    const bool is_result = is_result_[at(node.outputs[0])];
    if (kernel.in_place == 0 || (is_result && on_host_)) return -1;
    for (size_t i = 0; i < step.in.size() && i < 32; ++i) {
      const Place& place = step.in[i];
      if ((kernel.in_place >> i & 1) == 0 || place.kind != Kind::kArena || place.type != out) continue;
      if (place.offset_bytes % 64 != 0 || buffer_of(place).is_result || buffer_of(place).uses != 1) continue;
      if (is_result && (!owns_memory(place) || buffer_of(place).bytes != num_bytes(out))) continue;
      const auto shares = [&](const Place& other) { return share_memory(other, place); };
      if (values_[at(node.inputs[i])].index == place.index &&
          std::count_if(step.in.begin(), step.in.end(), shares) == 1)
        return static_cast<int>(i);
    }
    return -1;
  }

  // The same for an input whose rows lie among what else this step alone still reads, as queries beside keys and values: `out` gets
  // its strides, with gaps for its readers, so what is small stays dense.
  int strided_input(const Node& node, const Step& step, const Kernel& kernel, TensorType& out) {
    constexpr size_t kLarge = size_t{16} << 20;
    if (kernel.in_place == 0 || is_result_[at(node.outputs[0])] || num_bytes(out) < kLarge) return -1;
    for (size_t i = 0; i < step.in.size() && i < 32; ++i) {
      const Place& place = step.in[i];
      if ((kernel.in_place >> i & 1) == 0 || place.kind != Kind::kArena || is_dense(place.type)) continue;
      if (place.type.dtype != out.dtype || place.type.shape != out.shape || buffer_of(place).is_result ||
          !has_elements_apart(place.type))
        continue;
      int num_readers = 0, num_overlaps = 0;
      for (const Place& other : step.in)
        if (share_memory(other, place)) ++num_readers, num_overlaps += may_overlap(other, place);
      if (num_readers != buffer_of(place).uses || num_overlaps != 1) continue;  // it overlaps with itself
      if (!takes(kernel, step, place)) continue;
      out.strides = place.type.strides;
      return static_cast<int>(i);
    }
    return -1;
  }

  bool takes(const Kernel& kernel, const Step& step, const Place& out) const {
    if (kernel.declines == nullptr) return true;
    std::vector<Operand> in, results{operand(out)};
    for (const Place& place : step.in) in.push_back(operand(place));
    return kernel.declines(step.attrs.get(), Case{in, results, options_.device, options_.precision}) == nullptr;
  }

  // With its operands placed: lets the kernel prepare, and books its scratch.
  Status add_step(Step step, KernelChoice choice) {
    std::vector<Operand> in, out;
    for (const Place& place : step.in) in.push_back(operand(place));
    for (const Place& place : step.out) out.push_back(operand(place));
    const Case operands{in, out, options_.device, options_.precision};
    step.kernel = choice.kernel;
    step.declined = std::move(choice.declined);
    if (step.kernel->prepare != nullptr) {
      PLICA_TRY(step.state, step.kernel->prepare(step.attrs.get(), operands, constants_));
    }
    for (size_t i = 0; i < step.in.size(); ++i) {
      const bool absorbed = step.state != nullptr && i < 32 && (step.kernel->absorbs >> i & 1) != 0;
      if (!absorbed) PLICA_CHECK(keep_constant(step.in[i]));
    }
    if (step.kernel->scratch_bytes != nullptr)
      step.scratch_bytes = step.kernel->scratch_bytes(step.attrs.get(), operands);
    if (step.op->cost != nullptr) {
      step.cost = step.op->cost(step.attrs.get(), operands);
    } else {
      for (const Place& place : step.in) step.cost.bytes += static_cast<double>(num_bytes(place.type));
      for (const Place& place : step.out) step.cost.bytes += static_cast<double>(num_bytes(place.type));
    }
    draft_.steps.push_back(std::move(step));
    return {};
  }

  // An output of the graph lies in memory of its own, which the caller may bring: the buffer of its value, or a copy.
  Status place_output(size_t i) {
    const Place& place = values_[at(graph_.outputs()[i])];
    const size_t bytes = num_bytes(place.type);
    if (place.kind == Kind::kArena && place.offset_bytes == 0 && is_dense(place.type)) {
      Buffer& buffer = buffer_of(place);
      if (buffer.kind == Kind::kArena && buffer.is_result && buffer.bytes == bytes) {
        buffer.kind = Kind::kOutput;
        buffer.index = static_cast<int>(i);
        return {};
      }
    }
    const TensorType type{place.type.dtype, place.type.shape, {}};
    return add_copy(place, add_buffer({Kind::kOutput, static_cast<int>(i), bytes, 0, true}, type),
                    graph_.output_name(i));
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const bool on_host_ = options_.context == nullptr;
  // From row to row of a bias. Products in 16 bits bring it by boxes, of a copy where they have to; others by vectors.
  const bool reads_vectors_ = options_.precision == Precision::kTf32 || options_.precision == Precision::kTf32x3;
  const int64_t row_bytes_ = !on_host_ && reads_vectors_ ? 16 : 1;
  ConstantStore& constants_;
  Draft draft_;
  Parts parts_;
  std::unordered_map<ValueId, Place> wholes_;  // where results of Concats stand; kAbsent until the first part is made
  std::unordered_set<ValueId> begun_;          // those of which parts are written
  std::vector<Place> values_, dense_;          // by ValueId; kAbsent until made
  std::vector<int> uses_;                      // by ValueId: readers, the graph's outputs too
  std::vector<bool> is_result_;                // by ValueId: an output of the graph looks at its memory
};

}  // namespace

Result<Draft> draft_steps(const Graph& graph, const std::vector<NodeId>& order, const PlanOptions& options,
                          ConstantStore& constants) {
  return Drafter(graph, options, constants).draft(order);
}

}  // namespace plica
