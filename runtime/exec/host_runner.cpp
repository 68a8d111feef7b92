#include "runtime/exec/host_runner.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace plica {

Status HostRunner::prepare(std::shared_ptr<const Plan> plan) {
  PLICA_CHECK(arena_.grow(std::max<size_t>(plan->arena_bytes, 1)));
  executor_ = std::make_unique<Executor>(std::move(plan), arena_.base());
  return {};
}

Status HostRunner::trace(std::span<double> step_times) {
  std::vector<double> step_ms(step_times.size() / 2);
  PLICA_CHECK(executor_->run(step_ms));
  double now_ms = 0;
  for (size_t i = 0; i < step_ms.size(); ++i) {
    step_times[2 * i] = now_ms;
    step_times[2 * i + 1] = now_ms += step_ms[i];
  }
  return {};
}

Status HostRunner::mark(size_t number) {
  if (marks_ms_.size() <= number) marks_ms_.resize(number + 1);
  marks_ms_[number] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return {};
}

Status HostRunner::set_stream(void* stream) {
  if (stream == nullptr) return {};
  return Error(Code::kInvalidInput, "a stream is given, but the model is on the CPU");
}

}  // namespace plica
