#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/device/device_context.h"
#include "runtime/exec/step_operands.h"

namespace plica {

// An input or output as the caller binds it; without elements it is never copied.
struct BoundPort {
  void* data = nullptr;
  MemoryKind kind = MemoryKind::kHost;

  bool operator==(const BoundPort&) const = default;
};

// A graph of a plan. Ports that are not in place are copied by nodes whose memory can be changed.
struct CapturedPlan {
  std::unique_ptr<DeviceGraph> graph;
  std::vector<BoundPort> ports;  // inputs, then outputs, as the graph has them now
  std::vector<bool> in_place;
  std::vector<void*> copies;  // null where there is none
};

// A plan made ready for one session on a device with a queue: operands, tables, the places where kernels report faults, and its
// graphs. Pinned memory is laid out as [faults, inputs, outputs].
struct ReadyPlan {
  // Queues the upload of the tables.
  static Result<std::unique_ptr<ReadyPlan>> make(std::shared_ptr<const Plan> plan, DeviceQueue& queue);

  ReadyPlan(std::shared_ptr<const Plan> of_plan, std::byte* arena, std::shared_ptr<void> device_memory);

  const TensorType& type(size_t port) const;  // ports count inputs, then outputs
  Fault* device_fault(size_t step) const { return device_faults + fault_slots[step]; }

  std::shared_ptr<const Plan> plan;
  std::shared_ptr<void> memory;  // of the device: tables, then faults
  StepOperands operands;
  Fault* device_faults;
  std::vector<size_t> fault_slots;           // by step; steps that find no faults share slot 0
  std::vector<const Step*> faulting;         // by slot
  int last_faulting = -1;                    // the last step that can find one; -1: none
  std::vector<size_t> port_offsets;          // in pinned memory
  size_t fault_bytes = 0, pinned_bytes = 0;  // of the faults, and of all
  bool has_run = false;
  std::unique_ptr<CapturedPlan> direct, copied;  // with ports in place; with every port copied
};

}  // namespace plica
