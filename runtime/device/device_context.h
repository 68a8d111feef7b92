#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/core/result.h"
#include "runtime/device/traits.h"

namespace plica {

// What a device reaches at best: what `bench` measures steps against.
struct DeviceLimits {
  double bytes_per_s = 0;       // of its memory, reading and writing
  double f32_flops_per_s = 0;   // multiply-adds of f32, two operations each
  double tf32_flops_per_s = 0;  // of its matrix units
  double half_flops_per_s = 0;  // bf16 and f16
};

// Where memory that a caller brings lies, as seen from one device.
enum class MemoryKind : uint8_t {
  kHost,    // the device's kernels cannot read it in place
  kDevice,  // they can
  kOther,   // of another device: it can be copied
};

// What a graph consists of.
struct GraphNodes {
  int kernels = 0, copies = 0, clears = 0, others = 0;
};

// Work that was captured once and is queued with one call. What it copies from and to at its edges can be changed.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;

  // Later launches copy these bytes instead; `copy` is what DeviceQueue::copy gave while the graph was captured, and the
  // memory is of the same kinds as it was then.
  virtual Status change_copy(void* copy, void* to, const void* from, size_t bytes) = 0;

  virtual Result<GraphNodes> nodes() const = 0;
};

// The memory and the work of one session on a device whose work is queued. One thread at a time, with the device current.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // The arena: makes [arena, arena + bytes) usable. Never moves, never shrinks; after an Error it is as it was.
  virtual Status grow_arena(size_t bytes) = 0;
  virtual std::byte* arena() const = 0;
  virtual size_t arena_bytes() const = 0;  // usable so far

  virtual Result<std::shared_ptr<void>> memory(size_t bytes) = 0;  // of the device
  virtual Result<std::shared_ptr<void>> pinned_memory(
      size_t bytes) = 0;  // of the host, for copies from and to the device

  // The stream (a cudaStream_t) that work is queued on: null sets the queue's own, which is also used to capture.
  // Work queued before is done before work queued after.
  virtual Status set_stream(void* stream) = 0;
  virtual void* stream() const = 0;

  // Queues a copy between memory of the device and pinned or device memory; while a graph is captured, `node` (where asked
  // for) names the copy in it.
  virtual Status copy(void* to, const void* from, size_t bytes, void** node = nullptr) = 0;
  virtual Status clear(void* memory, size_t bytes) = 0;

  // What went wrong in launches since the last call.
  virtual Status launch_status(std::string_view doing) = 0;

  // Captures what `enqueue` queues, which is not run; an Error of it ends the capture.
  virtual Result<std::unique_ptr<DeviceGraph>> capture(const std::function<Status()>& enqueue) = 0;
  virtual Status launch(const DeviceGraph& graph) = 0;

  // While a graph is captured: a name for what was captured last, and what is captured next waits for that of these names
  // instead of that before it. Else nothing.
  virtual Result<size_t> point() = 0;
  virtual Status continue_after(std::span<const size_t> points) = 0;

  // A point in the stream's work, with a time once it is reached; numbers are reused by later marks.
  virtual Status mark(size_t number) = 0;
  virtual Result<double> ms_between(size_t from, size_t to) = 0;

  virtual Status synchronize() = 0;
};

// One device as models and sessions see it. Immutable, thread-safe.
class DeviceContext {
 public:
  virtual ~DeviceContext() = default;

  virtual const DeviceTraits& traits() const = 0;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  virtual DeviceLimits limits() const = 0;
  virtual Result<size_t> free_bytes() const = 0;  // of the device's memory, whoever uses the rest; 0 on the CPU
  virtual MemoryKind kind_of(const void* memory) const = 0;

  // Bytes of the host's memory, copied to the device for as long as the result lives. For devices with a queue.
  virtual Result<std::shared_ptr<void>> upload(const void* data, size_t bytes) = 0;
  virtual size_t uploaded_bytes() const = 0;  // all that `upload` was asked for

  // Memory of the device of its own, aligned to 256 bytes.
  virtual Result<std::shared_ptr<void>> allocate(size_t bytes) = 0;

  // Copies bytes from and to memory of the host or of the device behind the work of `stream`, and waits.
  virtual Status copy(void* to, const void* from, size_t bytes, void* stream) = 0;

  // Null where work runs in the caller's thread and is done when a kernel returns: on the CPU.
  virtual Result<std::unique_ptr<DeviceQueue>> make_queue() = 0;

  // Makes the device current for this thread; the value is for `leave`. See DeviceScope.
  virtual int enter() = 0;
  virtual void leave(int previous) = 0;
};

std::shared_ptr<DeviceContext> host_context(int num_threads);

// "cpu", "cuda" (device 0) or "cuda:N"; 0 threads are all that the process may use. A context a model: its uploads are the model's. kInvalidInput for other names,
// kUnsupported where this build has no such backend, kDeviceError where the machine has no such device.
Result<std::shared_ptr<DeviceContext>> open_device(const std::string& name, int num_threads);

// Makes a device current for this thread while it lives; null: nothing.
class DeviceScope {
 public:
  explicit DeviceScope(DeviceContext* context)
      : context_(context), previous_(context != nullptr ? context->enter() : 0) {}
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (context_ != nullptr) context_->leave(previous_);
  }

 private:
  DeviceContext* context_;
  int previous_;
};

}  // namespace plica
