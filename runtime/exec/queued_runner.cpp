#include "runtime/exec/queued_runner.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/shape.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/step_launcher.h"

namespace plica {
namespace {

constexpr size_t kMostReady = 16;       // plans with graphs
constexpr int kSteadyRuns = 4;          // with other memory than a graph has, before it is captured again
constexpr size_t kLeastPinned = 65536;  // bytes
constexpr int kTimedRepeats = 20;       // of a step

}  // namespace

QueuedRunner::~QueuedRunner() {
  const DeviceScope scope(context_.get());
  (void)queue_->synchronize();
  ready_.clear();
}

Status QueuedRunner::prepare(std::shared_ptr<const Plan> plan) {
  const DeviceScope scope(context_.get());
  if (is_queued_) PLICA_CHECK(synchronize());
  const auto found = std::find_if(ready_.begin(), ready_.end(), [&](const auto& ready) { return ready->plan == plan; });
  if (found != ready_.end()) {
    std::rotate(ready_.begin(), found, found + 1);
  } else {
    PLICA_CHECK(queue_->grow_arena(std::max<size_t>(plan->inner_bytes, 1)));
    PLICA_TRY(std::unique_ptr<ReadyPlan> ready, ReadyPlan::make(std::move(plan), *queue_));
    if (ready_.size() == kMostReady) ready_.pop_back();
    ready_.insert(ready_.begin(), std::move(ready));
  }
  const Plan& current = *ready_.front()->plan;
  ports_.assign(current.inputs.size() + current.outputs.size(), {});
  steady_runs_ = 0;
  return {};
}

Status QueuedRunner::bind_input(size_t index, const void* data) { return bind(index, const_cast<void*>(data)); }

Status QueuedRunner::bind_output(size_t index, void* data) {
  return bind(ready_.front()->plan->inputs.size() + index, data);
}

// Memory of the device is used in place where it is aligned as the plan's kernels were promised.
Status QueuedRunner::bind(size_t i, void* data) {
  BoundPort& port = ports_[i];
  if (port.data == data) return {};
  port = {data, data == nullptr ? MemoryKind::kHost : context_->kind_of(data)};
  if (port.kind == MemoryKind::kDevice && reinterpret_cast<uintptr_t>(data) % kMemoryAlignment != 0)
    port.kind = MemoryKind::kOther;
  steady_runs_ = 0;
  return {};
}

bool QueuedRunner::has_host(size_t first, size_t end) const {
  for (size_t i = first; i < end; ++i)
    if (ports_[i].kind == MemoryKind::kHost && num_bytes(ready_.front()->type(i)) > 0) return true;
  return false;
}

// Graphs hold addresses of pinned memory: where that moves they are captured again.
Status QueuedRunner::reserve_pinned() {
  const ReadyPlan& ready = *ready_.front();
  const size_t wanted = has_host(0, ports_.size()) ? ready.pinned_bytes : ready.fault_bytes;
  if (wanted <= pinned_bytes_) return {};
  PLICA_CHECK(queue_->synchronize());
  const size_t bytes = std::max(wanted + wanted / 2, kLeastPinned);
  PLICA_TRY(pinned_, queue_->pinned_memory(bytes));
  std::memset(pinned_.get(), 0, bytes);
  pinned_bytes_ = bytes;
  for (const auto& each : ready_) {
    each->direct = nullptr;
    each->copied = nullptr;
  }
  return {};
}

std::byte* QueuedRunner::pinned(size_t port) const {
  return static_cast<std::byte*>(pinned_.get()) + ready_.front()->port_offsets[port];
}

void* QueuedRunner::output(size_t index) const {
  const size_t port = ready_.front()->plan->inputs.size() + index;
  if (ports_[port].data != nullptr) return ports_[port].data;
  return pinned_ != nullptr ? pinned(port) : queue_->arena();  // without elements
}

void QueuedRunner::take_inputs() const {
  for (size_t i = 0; i < ready_.front()->plan->inputs.size(); ++i) {
    const size_t bytes = num_bytes(ready_.front()->type(i));
    if (ports_[i].kind == MemoryKind::kHost && bytes > 0) std::memcpy(pinned(i), ports_[i].data, bytes);
  }
}

void QueuedRunner::give_outputs() const {
  for (size_t i = ready_.front()->plan->inputs.size(); i < ports_.size(); ++i) {
    const size_t bytes = num_bytes(ready_.front()->type(i));
    if (ports_[i].kind == MemoryKind::kHost && ports_[i].data != nullptr && bytes > 0)
      std::memcpy(ports_[i].data, pinned(i), bytes);
  }
}

Status QueuedRunner::run(std::span<double> step_ms) {
  const DeviceScope scope(context_.get());
  PLICA_CHECK(check_earlier_run());
  PLICA_CHECK(reserve_pinned());
  const size_t num_inputs = ready_.front()->plan->inputs.size();
  if (is_queued_ && has_host(0, num_inputs)) PLICA_CHECK(synchronize());  // it may still read pinned memory
  take_inputs();
  PLICA_CHECK(step_ms.empty() ? launch() : time_steps(step_ms));
  is_queued_ = true;
  if (!has_host(num_inputs, ports_.size())) return {};
  PLICA_CHECK(synchronize());
  give_outputs();
  return {};
}

Status QueuedRunner::synchronize() {
  const DeviceScope scope(context_.get());
  PLICA_CHECK(queue_->synchronize());
  is_queued_ = false;
  return ready_.empty() ? Status() : check_faults();
}

Result<GraphNodes> QueuedRunner::graph_nodes() const {
  const ReadyPlan& ready = *ready_.front();
  if (fits(ready.direct.get())) return ready.direct->graph->nodes();
  if (fits(ready.copied.get())) return ready.copied->graph->nodes();
  return GraphNodes{};
}

Status QueuedRunner::mark(size_t number) {
  const DeviceScope scope(context_.get());
  return queue_->mark(number);
}

Status QueuedRunner::set_stream(void* stream) {
  const DeviceScope scope(context_.get());
  return queue_->set_stream(stream);
}

// Of the run that is done.
Status QueuedRunner::check_faults() {
  const ReadyPlan& ready = *ready_.front();
  if (ready.last_faulting < 0 || pinned_ == nullptr) return {};
  auto* const faults = static_cast<Fault*>(pinned_.get());
  const auto found =
      std::find_if(faults, faults + ready.faulting.size(), [](const Fault& fault) { return fault.what != nullptr; });
  if (found == faults + ready.faulting.size()) return {};
  Error error = to_error(*found, *ready.faulting[static_cast<size_t>(found - faults)]);
  std::memset(static_cast<void*>(faults), 0, ready.fault_bytes);
  PLICA_CHECK(queue_->clear(ready.device_faults, ready.fault_bytes));
  return error;
}

// A look, without waiting.
Status QueuedRunner::check_earlier_run() {
  const ReadyPlan& ready = *ready_.front();
  if (!is_queued_ || ready.last_faulting < 0) return {};
  const auto* faults = static_cast<const volatile Fault*>(pinned_.get());
  for (size_t i = 0; i < ready.faulting.size(); ++i)
    if (faults[i].what != nullptr) return synchronize().context("in a run before this one");
  return {};
}

std::vector<bool> QueuedRunner::ports_in_place() const {
  std::vector<bool> in_place;
  for (const BoundPort& port : ports_) in_place.push_back(port.kind == MemoryKind::kDevice);
  return in_place;
}

// Inputs and outputs that are not used in place lie in the arena.
Status QueuedRunner::make_room(const std::vector<bool>& in_place) {
  const ReadyPlan& ready = *ready_.front();
  for (size_t i = 0; i < in_place.size(); ++i)
    if (!in_place[i] && num_bytes(ready.type(i)) > 0) return queue_->grow_arena(ready.plan->arena_bytes);
  return {};
}

void QueuedRunner::place_ports(const std::vector<bool>& in_place) {
  ReadyPlan& ready = *ready_.front();
  const size_t num_inputs = ready.plan->inputs.size();
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (i >= num_inputs) {
      ready.operands.bind_output(i - num_inputs, in_place[i] ? ports_[i].data : nullptr);
    } else {
      ready.operands.bind_input(
          i, in_place[i] ? ports_[i].data : queue_->arena() + ready.plan->input_places[i].offset_bytes);
    }
  }
}

bool QueuedRunner::fits(const CapturedPlan* captured) const {
  if (captured == nullptr) return false;
  for (size_t i = 0; i < ports_.size(); ++i)
    if (captured->ports[i].kind != ports_[i].kind || (captured->in_place[i] && captured->ports[i] != ports_[i]))
      return false;
  return true;
}

Status QueuedRunner::launch() {
  ReadyPlan& ready = *ready_.front();
  if (!ready.has_run) {
    PLICA_CHECK(make_room(ports_in_place()));
    PLICA_CHECK(enqueue(ports_in_place(), nullptr));
    ready.has_run = true;
    return {};
  }
  if (fits(ready.direct.get())) return launch_graph(*ready.direct);
  if (ready.direct == nullptr || ++steady_runs_ >= kSteadyRuns) {
    PLICA_TRY(ready.direct, capture(true));
    return launch_graph(*ready.direct);
  }
  if (!fits(ready.copied.get())) {
    PLICA_TRY(ready.copied, capture(false));
  }
  return launch_graph(*ready.copied);
}

Status QueuedRunner::launch_graph(CapturedPlan& captured) {
  const ReadyPlan& ready = *ready_.front();
  const size_t num_inputs = ready.plan->inputs.size();
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (captured.ports[i] == ports_[i]) continue;
    if (captured.copies[i] != nullptr && ports_[i].kind != MemoryKind::kHost) {
      std::byte* const place =
          queue_->arena() +
          (i < num_inputs ? ready.plan->input_places[i] : ready.plan->output_places[i - num_inputs]).offset_bytes;
      const size_t bytes = num_bytes(ready.type(i));
      void* const data = ports_[i].data;
      PLICA_CHECK(i < num_inputs ? captured.graph->change_copy(captured.copies[i], place, data, bytes)
                                 : captured.graph->change_copy(captured.copies[i], data, place, bytes));
    }
    captured.ports[i] = ports_[i];
  }
  return queue_->launch(*captured.graph);
}

Result<std::unique_ptr<CapturedPlan>> QueuedRunner::capture(bool in_place) {
  auto captured = std::make_unique<CapturedPlan>();
  captured->ports = ports_;
  captured->in_place = in_place ? ports_in_place() : std::vector<bool>(ports_.size(), false);
  captured->copies.resize(ports_.size());
  PLICA_CHECK(make_room(captured->in_place));
  const auto record = [&] { return enqueue(captured->in_place, captured.get()); };
  PLICA_TRY(captured->graph, queue_->capture(record).context("capturing the plan as a graph"));
  return captured;
}

Status QueuedRunner::enqueue(const std::vector<bool>& in_place, CapturedPlan* captured, bool marked) {
  const ReadyPlan& ready = *ready_.front();
  place_ports(in_place);
  PLICA_CHECK(enqueue_inputs(in_place, captured));
  const StepLauncher launcher(*queue_, ready, pinned_.get());
  const bool branches = (captured != nullptr || marked) && !ready.plan->waits.empty();
  PLICA_CHECK(branches ? launcher.enqueue_branches(marked) : launcher.enqueue_in_order(marked));
  for (size_t i = ready.plan->inputs.size(); i < ports_.size(); ++i)
    if (!in_place[i]) PLICA_CHECK(enqueue_copy(i, captured));
  return {};
}

Status QueuedRunner::enqueue_inputs(const std::vector<bool>& in_place, CapturedPlan* captured) {
  const Plan& plan = *ready_.front()->plan;
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (!in_place[i] && plan.input_places[i].kind != Place::Kind::kAbsent) PLICA_CHECK(enqueue_copy(i, captured));
  return {};
}

Status QueuedRunner::enqueue_copy(size_t i, CapturedPlan* captured) {
  const ReadyPlan& ready = *ready_.front();
  const size_t num_inputs = ready.plan->inputs.size(), bytes = num_bytes(ready.type(i));
  if (bytes == 0) return {};
  void* const bound = ports_[i].kind == MemoryKind::kHost ? pinned(i) : ports_[i].data;
  const bool may_change = captured != nullptr && ports_[i].kind != MemoryKind::kHost;
  void** const node = may_change ? &captured->copies[i] : nullptr;
  if (i < num_inputs)
    return queue_->copy(queue_->arena() + ready.plan->input_places[i].offset_bytes, bound, bytes, node);
  return queue_->copy(bound, queue_->arena() + ready.plan->output_places[i - num_inputs].offset_bytes, bytes, node);
}

// Each step alone, several times in a row as one graph, so that launching costs nothing.
Status QueuedRunner::time_steps(std::span<double> step_ms) {
  const ReadyPlan& ready = *ready_.front();
  PLICA_CHECK(make_room(ports_in_place()));
  PLICA_CHECK(enqueue(ports_in_place(), nullptr));
  const StepLauncher launcher(*queue_, ready, pinned_.get());
  const size_t begin = 0, end = 1;
  for (size_t i = 0; i < step_ms.size(); ++i) {
    PLICA_TRY(const std::unique_ptr<DeviceGraph> graph, queue_->capture([&]() -> Status {
      for (int k = 0; k < kTimedRepeats; ++k) PLICA_CHECK(launcher.enqueue_step(i));
      return {};
    }));
    PLICA_CHECK(
        enqueue_inputs(ports_in_place(), nullptr));  // indices that later steps have written over would be faults
    PLICA_CHECK(queue_->launch(*graph));
    PLICA_CHECK(queue_->mark(begin));
    PLICA_CHECK(queue_->launch(*graph));
    PLICA_CHECK(queue_->mark(end));
    PLICA_CHECK(queue_->synchronize());
    PLICA_TRY(const double ms, queue_->ms_between(begin, end));
    step_ms[i] = ms / kTimedRepeats;
  }
  return queue_->clear(ready.device_faults, ready.fault_bytes);
}

Status QueuedRunner::trace(std::span<double> step_times) {
  const DeviceScope scope(context_.get());
  PLICA_CHECK(reserve_pinned());
  PLICA_CHECK(make_room(ports_in_place()));
  take_inputs();
  PLICA_TRY(const std::unique_ptr<DeviceGraph> graph,
            queue_->capture([&] { return enqueue(ports_in_place(), nullptr, true); }));
  for (int k = 0; k < 3; ++k) PLICA_CHECK(queue_->launch(*graph));
  PLICA_CHECK(synchronize());
  for (size_t i = 0; i < step_times.size(); ++i) {
    const StepRun* run = ready_.front()->plan->run_of(i / 2);
    const size_t mark = run != nullptr && run->first < i / 2 ? 2 * run->first + 1 : i;
    PLICA_TRY(step_times[i], queue_->ms_between(0, mark));
  }
  return {};
}

}  // namespace plica
