#include "tools/bench_runs.h"

#include <chrono>
#include <ctime>

#include "runtime/api/session_state.h"

namespace plica {
namespace {

constexpr int kBackToBack = 100;

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Bench {
 public:
  Bench(Session& session, std::vector<Resident> batches)
      : session_(session), runner_(*session.state().runner), batches_(std::move(batches)) {}

  Status pass() {
    for (const Resident& batch : batches_) {
      if (batches_.size() > 1) PLICA_CHECK(batch.bind(session_));
      PLICA_CHECK(session_.run());
    }
    return {};
  }

  Status warm_up() {
    PLICA_CHECK(batches_.front().bind(session_));
    for (int i = 0; i < 3; ++i) PLICA_CHECK(pass());  // the steps, the graph's making, the graph
    return session_.synchronize();
  }

  // From the device's own clock where it has one.
  Result<double> time(int passes) {
    PLICA_CHECK(runner_.mark(0));
    for (int i = 0; i < passes; ++i) PLICA_CHECK(pass());
    PLICA_CHECK(runner_.mark(1));
    PLICA_CHECK(session_.synchronize());
    return runner_.ms_between(0, 1);
  }

  Result<double> host_us() {
    const double start = wall_ms();
    PLICA_CHECK(session_.run());
    const double us = 1e3 * (wall_ms() - start);
    PLICA_CHECK(session_.synchronize());
    return us;
  }

 private:
  Session& session_;
  PlanRunner& runner_;
  std::vector<Resident> batches_;
};

}  // namespace

Result<BenchTimes> time_runs(Session& session, const std::vector<std::vector<Tensor>>& batches, int repeat) {
  BenchTimes times;
  std::vector<Resident> resident;
  const double start = wall_ms();
  for (const std::vector<Tensor>& batch : batches) {
    PLICA_TRY(Resident placed, Resident::make(session, batch));
    resident.push_back(std::move(placed));
  }
  times.first_ms = wall_ms() - start;
  Bench bench(session, std::move(resident));
  PLICA_CHECK(bench.warm_up());
  for (int i = 0; i < repeat; ++i) {
    const double cpu_start = cpu_ms();
    PLICA_TRY(const double ms, bench.time(1));
    times.ms.push_back(ms);
    times.cpu_ms.push_back(cpu_ms() - cpu_start);
  }
  times.mapped_bytes = session.state().runner->arena_bytes();
  if (session.state().model->context->traits().device == Device::kCpu) return times;
  for (int i = 0; i < repeat; ++i) {
    PLICA_TRY(const double us, bench.host_us());
    times.host_us.push_back(us);
  }
  PLICA_TRY(const double together, bench.time(kBackToBack));
  times.back_to_back_ms = together / kBackToBack;
  PLICA_TRY(times.graph_nodes, session.state().runner->graph_nodes());
  for (size_t i = 0; i < batches.back().size(); ++i) PLICA_CHECK(session.bind(i, batches.back()[i].view()));
  for (size_t i = 0; i < session.state().outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, {}));
  return times;
}

}  // namespace plica
