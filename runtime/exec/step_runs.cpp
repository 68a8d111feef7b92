#include "runtime/exec/step_runs.h"

#include <algorithm>
#include <numeric>

#include "runtime/core/shape.h"
#include "runtime/exec/alignment.h"

namespace plica {
namespace {

using Kind = Place::Kind;
using Ids = std::vector<size_t>;  // of steps, as they are drafted

bool is_buffer(const Place& place) { return place.kind != Kind::kAbsent && place.kind != Kind::kConstant; }

bool is_input(const Place& place, const Draft& draft) {
  return is_buffer(place) && draft.buffers[static_cast<size_t>(place.index)].kind == Kind::kInput;
}

// The steps of a draft as run kernels see them; it outlives them.
class OfferedSteps {
 public:
  OfferedSteps(const Draft& draft, const PlanOptions& options)
      : draft_(draft), num_reads_(draft.buffers.size(), 0), reads_(draft.buffers.size()) {
    operands_.reserve(2 * draft.steps.size());
    for (const Step& step : draft.steps) {
      RunStep seen;
      seen.op = step.op;
      seen.attrs = step.attrs.get();
      seen.kernel = step.kernel;
      seen.c = {add_operands(step.in, options), add_operands(step.out, options), options.device, options.precision};
      seen.in = memory_of(step.in);
      seen.out = memory_of(step.out);
      for (const Place& place : step.in) seen.in_offset_bytes.push_back(place.offset_bytes);
      for (const Place& place : step.out) seen.out_offset_bytes.push_back(place.offset_bytes);
      for (const Place& place : step.in) seen.given.push_back(is_input(place, draft));
      seen.inner.resize(step.out.size());
      for (size_t i = 0; i < seen.in.size(); ++i) {
        count_read(seen.in[i], num_reads_);
        if (seen.in[i] >= 0) reads_[static_cast<size_t>(seen.in[i])].push_back({steps_.size(), &step.in[i]});
      }
      seen.outside.resize(step.out.size());
      steps_.push_back(std::move(seen));
    }
  }

  const RunStep& operator[](size_t id) const { return steps_[id]; }

  // Those of the ids, with `inner` for when they alone are a run.
  std::vector<RunStep> run_of(std::span<const size_t> ids) const {
    std::vector<RunStep> run;
    std::vector<int> reads_inside(num_reads_.size(), 0);
    for (size_t id : ids) {
      run.push_back(steps_[id]);
      for (int memory : run.back().in) count_read(memory, reads_inside);
    }
    for (RunStep& step : run)
      for (size_t i = 0; i < step.out.size(); ++i) {
        const auto at = static_cast<size_t>(step.out[i]);
        step.inner[i] = draft_.buffers[at].kind == Kind::kArena && reads_inside[at] == num_reads_[at];
        if (!step.inner[i]) step.outside[i] = read_outside(at, ids, {step.c.out[i].type, step.out_offset_bytes[i]});
      }
    return run;
  }

 private:
  struct Read {
    size_t step;
    const Place* place;
  };

  std::vector<OutsideRead> read_outside(size_t buffer, std::span<const size_t> ids, const OutsideRead& whole) const {
    std::vector<OutsideRead> outside;
    if (draft_.buffers[buffer].kind != Kind::kArena) outside.push_back(whole);
    for (const Read& read : reads_[buffer])
      if (std::find(ids.begin(), ids.end(), read.step) == ids.end())
        outside.push_back({&read.place->type, read.place->offset_bytes});
    return outside;
  }

  std::span<const Operand> add_operands(const std::vector<Place>& places, const PlanOptions& options) {
    std::vector<Operand>& operands = operands_.emplace_back();
    for (const Place& place : places) operands.push_back(operand_at(place, draft_.buffers, options.context == nullptr));
    return operands;
  }

  static std::vector<int> memory_of(const std::vector<Place>& places) {
    std::vector<int> memory;
    for (const Place& place : places) memory.push_back(is_buffer(place) ? place.index : -1);
    return memory;
  }

  static void count_read(int memory, std::vector<int>& reads) {
    if (memory >= 0) ++reads[static_cast<size_t>(memory)];
  }

  const Draft& draft_;
  std::vector<std::vector<Operand>> operands_;
  std::vector<RunStep> steps_;
  std::vector<int> num_reads_;            // by buffer
  std::vector<std::vector<Read>> reads_;  // by buffer
};

// Steps that a kernel knows, one behind the other but for those that need nothing of them.
class Window {
 public:
  explicit Window(size_t num_buffers) : touched_(num_buffers, kNot) {}

  void add_known(size_t id, const RunStep& step) {
    known_.push_back(id);
    all_.push_back(id);
    for (int memory : step.in) touch(memory, kRead);
    for (int memory : step.out) touch(memory, kWritten);
  }
  void add_other(size_t id) { all_.push_back(id); }

  bool is_free(const RunStep& step) const {
    return std::none_of(step.in.begin(), step.in.end(), [&](int memory) { return is(memory, kWritten); }) &&
           std::none_of(step.out.begin(), step.out.end(), [&](int memory) { return is(memory, kRead); });
  }

  void clear() {
    known_.clear();
    all_.clear();
    std::fill(touched_.begin(), touched_.end(), kNot);
  }

  const Ids& known() const { return known_; }
  const Ids& all() const { return all_; }  // in order

 private:
  enum Touch : uint8_t { kNot, kRead, kWritten };

  void touch(int memory, Touch how) {
    if (memory < 0) return;
    Touch& so_far = touched_[static_cast<size_t>(memory)];
    so_far = std::max(so_far, how);
  }
  bool is(int memory, Touch at_least) const { return memory >= 0 && touched_[static_cast<size_t>(memory)] >= at_least; }

  Ids known_, all_;
  std::vector<Touch> touched_;  // by buffer, by those that are known
};

// The memory of outputs that the caller may bring. Where the last step that writes it works in place, what stood there before may
// as well stand elsewhere.
class OutputMemory {
 public:
  explicit OutputMemory(const Draft& draft) : bound_from_(draft.buffers.size(), 0) {
    for (size_t id = 0; id < draft.steps.size(); ++id) {
      const Step& step = draft.steps[id];
      for (const Place& to : step.out) {
        const auto buffer = static_cast<size_t>(to.index);
        bound_from_[buffer] = works_in_place(step, to, draft.buffers[buffer].bytes) ? id : 0;
      }
    }
  }

  // Whether step `id` must find it where the caller may bring it.
  bool is_bound(size_t id, const Buffer& buffer, const Place& place) const {
    return buffer.kind == Kind::kOutput && id >= bound_from_[static_cast<size_t>(place.index)];
  }

  // Gives what the steps before the last that writes it see memory of its own.
  void split(size_t output, Draft& draft) const {
    const Buffer& whole = draft.buffers[output];
    const auto own = static_cast<int>(draft.buffers.size());
    draft.buffers.push_back({Kind::kArena, 0, whole.bytes, 0, false});
    const auto move = [&](std::vector<Place>& places) {
      for (Place& place : places)
        if (is_buffer(place) && place.index == static_cast<int>(output)) place.index = own;
    };
    for (size_t id = 0; id <= bound_from_[output]; ++id) move(draft.steps[id].in);
    for (size_t id = 0; id < bound_from_[output]; ++id) move(draft.steps[id].out);
  }

 private:
  // On all of it.
  static bool works_in_place(const Step& step, const Place& to, size_t bytes) {
    if (to.offset_bytes != 0 || !is_dense(to.type) || num_bytes(to.type) != bytes) return false;
    return std::any_of(step.in.begin(), step.in.end(), [&](const Place& from) {
      return is_buffer(from) && from.index == to.index && from.offset_bytes == 0 && from.type == to.type;
    });
  }

  std::vector<size_t> bound_from_;  // by buffer: the step that writes it last, where it works in place; else 0
};

class Joiner {
 public:
  Joiner(Draft& draft, const PlanOptions& options, ConstantStore& constants)
      : draft_(draft),
        options_(options),
        constants_(constants),
        offered_(draft, options),
        outputs_(draft),
        order_(draft.steps.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    for (size_t id = 0; id < order_.size(); ++id) {
      const std::vector<bool>& given = offered_[id].given;
      may_join_.push_back(may_join(id));
      reads_freely_.push_back(can_fault(draft_.steps[id]) || std::ranges::find(given, true) != given.end());
    }
    is_joined_.resize(draft.steps.size(), false);
  }

  // Looks for runs of one kernel.
  Status join(const RunKernel& kernel) {
    Ids order;
    Window window(draft_.buffers.size());
    for (size_t id : order_) {
      const RunStep& step = offered_[id];
      if (may_join_[id] && (kernel.reads_inputs || !reads_freely_[id]) && !is_joined_[id] && kernel.knows(step)) {
        window.add_known(id, step);
      } else if (!window.known().empty() && may_move(id) && window.is_free(step)) {
        window.add_other(id);
      } else {
        PLICA_CHECK(settle(kernel, window, order));
        order.push_back(id);
      }
    }
    PLICA_CHECK(settle(kernel, window, order));
    order_ = std::move(order);
    return {};
  }

  // Puts the steps of the draft in their new order.
  std::vector<StepRun> finish() {
    free_of_outputs();
    std::vector<Step> steps;
    std::vector<size_t> position(order_.size());
    for (size_t id : order_) {
      position[id] = steps.size();
      steps.push_back(std::move(draft_.steps[id]));
    }
    draft_.steps = std::move(steps);
    for (StepRun& run : runs_) run.first = position[run.first];
    std::sort(runs_.begin(), runs_.end(), [](const StepRun& a, const StepRun& b) { return a.first < b.first; });
    return std::move(runs_);
  }

 private:
  bool may_join(size_t id) const {
    const Step& step = draft_.steps[id];
    const auto is_bound = [&](const Place& place) {
      return is_buffer(place) && outputs_.is_bound(id, draft_.buffers[static_cast<size_t>(place.index)], place);
    };
    const auto is_forced = [&](const ForcedKernel& forced) { return forced.op == step.op; };
    return std::none_of(step.in.begin(), step.in.end(), is_bound) &&
           std::none_of(step.out.begin(), step.out.end(), is_bound) &&
           std::none_of(options_.kernels.begin(), options_.kernels.end(), is_forced);
  }

  // Steps of runs let go of the outputs' memory.
  void free_of_outputs() {
    std::vector<bool> is_touched(draft_.buffers.size(), false);
    for (size_t id = 0; id < draft_.steps.size(); ++id)
      for (const std::vector<int>* memory : {&offered_[id].in, &offered_[id].out})
        for (int buffer : *memory)
          if (is_joined_[id] && buffer >= 0) is_touched[static_cast<size_t>(buffer)] = true;
    for (size_t i = 0; i < is_touched.size(); ++i)
      if (is_touched[i] && draft_.buffers[i].kind == Kind::kOutput) outputs_.split(i, draft_);
  }

  // What is large is not held for as long as a run takes.
  bool may_move(size_t id) const {
    constexpr size_t kLarge = size_t{4} << 20;
    const std::vector<Place>& results = draft_.steps[id].out;
    return !is_joined_[id] && std::all_of(results.begin(), results.end(),
                                          [](const Place& result) { return num_bytes(result.type) <= kLarge; });
  }

  // What the kernel takes of the steps with these ids, from the first on.
  std::vector<RunStep> taken(const RunKernel& kernel, std::span<const size_t> ids,
                             std::span<const RunStep> steps) const {
    std::vector<RunStep> fewer;
    for (size_t count = kernel.takes(steps); count > 0; count = kernel.takes(fewer)) {
      if (count >= fewer.size() && !fewer.empty()) return fewer;
      ids = ids.first(std::min(count, ids.size()));
      fewer = offered_.run_of(ids);
    }
    return {};
  }

  // Makes runs of what the window holds, and appends it to the order: what stands among the steps of a run comes ahead of it.
  Status settle(const RunKernel& kernel, Window& window, Ids& order) {
    const std::span<const size_t> known = window.known();
    if (known.empty()) return {};
    std::vector<RunStep> steps = offered_.run_of(known);
    auto next = window.all().begin();
    for (size_t i = 0; i < known.size();) {
      const std::vector<RunStep> run = taken(kernel, known.subspan(i), std::span(steps).subspan(i));
      const size_t end = i + std::max<size_t>(run.size(), 1);
      if (!run.empty()) {
        const std::span<const size_t> ids = known.subspan(i, run.size());
        PLICA_CHECK(add_run(kernel, run, ids));
        const auto behind = std::find(next, window.all().end(), ids.back()) + 1;
        std::copy_if(next, behind, std::back_inserter(order), [&](size_t id) { return !is_joined_[id]; });
        order.insert(order.end(), ids.begin(), ids.end());
        next = behind;
      }
      for (; i < end; ++i) leave_out(i, steps);
    }
    order.insert(order.end(), next, window.all().end());
    window.clear();
    return {};
  }

  // What step i reads is read outside of what follows.
  static void leave_out(size_t i, std::vector<RunStep>& steps) {
    for (int memory : steps[i].in)
      for (size_t k = i + 1; memory >= 0 && k < steps.size(); ++k)
        for (size_t result = 0; result < steps[k].out.size(); ++result)
          if (steps[k].out[result] == memory) steps[k].inner[result] = false;
  }

  Status add_run(const RunKernel& kernel, const std::vector<RunStep>& steps, std::span<const size_t> ids) {
    StepRun run;
    run.kernel = &kernel;
    run.first = ids.front();
    run.count = ids.size();
    if (kernel.scratch_bytes != nullptr) run.scratch_bytes = kernel.scratch_bytes(steps);
    if (kernel.prepare != nullptr) {
      const Step &first = draft_.steps[ids.front()], &last = draft_.steps[ids.back()];
      PLICA_TRY(RunParts parts,
                kernel.prepare(steps, constants_).context("planning " + describe_run(kernel, first, last)));
      run.state = std::move(parts.state);
      for (const ConstantPtr& constant : parts.constants)
        run.constants.push_back({Kind::kConstant, 0, 0, constant, constant->type, nullptr});
      if (parts.own_bytes > 0) {
        PLICA_TRY(Tensor zeros, Tensor::zeros(DType::kU8, {static_cast<int64_t>(parts.own_bytes)}));
        const ConstantPtr own = make_constant(std::move(zeros));
        run.own = {Kind::kConstant, 0, 0, own, own->type, nullptr};
      }
    }
    for (size_t id : ids) is_joined_[id] = true;
    runs_.push_back(std::move(run));
    return {};
  }

  Draft& draft_;
  const PlanOptions& options_;
  ConstantStore& constants_;
  OfferedSteps offered_;
  OutputMemory outputs_;
  Ids order_;
  std::vector<bool> may_join_, is_joined_, reads_freely_;  // by step; reads_freely_: inputs of the model, or indices
  std::vector<StepRun> runs_;                              // `first` is the step as it is drafted
};

}  // namespace

Result<std::vector<StepRun>> join_steps(Draft& draft, const PlanOptions& options, ConstantStore& constants) {
  const std::span<const RunKernel> all[] = {options.run_kernels, run_kernels(options.device.device)};
  if (all[0].empty() && all[1].empty()) return std::vector<StepRun>();
  Joiner joiner(draft, options, constants);
  for (const std::span<const RunKernel> kernels : all)
    for (const RunKernel& kernel : kernels) PLICA_CHECK(joiner.join(kernel));
  return joiner.finish();
}

}  // namespace plica
