#include "runtime/exec/ready_plan.h"

#include <algorithm>

#include "runtime/core/shape.h"
#include "runtime/exec/upload.h"

namespace plica {
namespace {

size_t round_up(size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

size_t num_faults(const Plan& plan) {
  const auto count = std::count_if(plan.steps.begin(), plan.steps.end(), can_fault);
  return std::max<size_t>(static_cast<size_t>(count), 1);
}

}  // namespace

ReadyPlan::ReadyPlan(std::shared_ptr<const Plan> of_plan, std::byte* arena, std::shared_ptr<void> device_memory)
    : plan(std::move(of_plan)),
      memory(std::move(device_memory)),
      operands(*plan, arena, static_cast<std::byte*>(memory.get())),
      device_faults(reinterpret_cast<Fault*>(static_cast<std::byte*>(memory.get()) + table_offsets(*plan).back())) {
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    const bool faults = can_fault(plan->steps[i]);
    fault_slots.push_back(faults ? faulting.size() : 0);
    if (!faults) continue;
    faulting.push_back(&plan->steps[i]);
    last_faulting = static_cast<int>(i);
  }
  fault_bytes = num_faults(*plan) * sizeof(Fault);
  pinned_bytes = round_up(fault_bytes);
  for (size_t i = 0; i < plan->inputs.size() + plan->outputs.size(); ++i) {
    port_offsets.push_back(pinned_bytes);
    pinned_bytes += round_up(num_bytes(type(i)));
  }
}

Result<std::unique_ptr<ReadyPlan>> ReadyPlan::make(std::shared_ptr<const Plan> plan, DeviceQueue& queue) {
  const std::vector<size_t> offsets = table_offsets(*plan);
  const size_t fault_bytes = num_faults(*plan) * sizeof(Fault);
  PLICA_TRY(std::shared_ptr<void> memory, queue.memory(offsets.back() + fault_bytes));
  auto* const base = static_cast<std::byte*>(memory.get());
  for (size_t i = 0; i < plan->tables.size(); ++i)
    PLICA_CHECK(queue.copy(base + offsets[i], plan->tables[i]->data, num_bytes(plan->tables[i]->type)));
  PLICA_CHECK(queue.clear(base + offsets.back(), fault_bytes));
  return std::make_unique<ReadyPlan>(std::move(plan), queue.arena(), std::move(memory));
}

const TensorType& ReadyPlan::type(size_t port) const {
  return port < plan->inputs.size() ? plan->inputs[port] : plan->outputs[port - plan->inputs.size()];
}

}  // namespace plica
