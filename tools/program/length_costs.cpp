#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/api/session_state.h"
#include "tools/input_arrays.h"
#include "tools/resident.h"

namespace plica {
namespace {

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct LengthCost {
  double new_ms = 0;   // the first two runs: planning, memory, the steps; then the graph's making, and the graph
  double host_us = 0;  // from entry to return of a run with bound buffers, later
  size_t free_bytes = 0;
  int num_kernels = 0;  // of the graph
};

Result<LengthCost> run_length(const Model& model, Session& session, int64_t length) {
  std::vector<Shape> shapes(model.inputs().size(), Shape{1, length});
  PLICA_TRY(const TensorMap arrays, make_inputs(model.inputs(), shapes));
  PLICA_TRY(const std::vector<Tensor> inputs, in_order(arrays, model.inputs()));
  LengthCost cost;
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i].view()));
  for (size_t i = 0; i < model.outputs().size(); ++i) PLICA_CHECK(session.bind_output(i, {}));
  const double start = wall_ms();
  for (int i = 0; i < 2; ++i) PLICA_CHECK(session.run());
  cost.new_ms = wall_ms() - start;

  PLICA_TRY(const Resident resident, Resident::make(session, inputs));
  PLICA_CHECK(resident.bind(session));
  std::vector<double> host_us;
  for (int i = 0; i < 20; ++i) {
    const double before = wall_ms();
    PLICA_CHECK(session.run());
    host_us.push_back(1e3 * (wall_ms() - before));
    PLICA_CHECK(session.synchronize());
  }
  cost.host_us = median(host_us);
  PLICA_TRY(const GraphNodes nodes, session.state().runner->graph_nodes());
  cost.num_kernels = nodes.kernels;
  PLICA_TRY(cost.free_bytes, model.state()->context->free_bytes());
  return cost;
}

constexpr int kStep = 37;  // lengths come in this order, modulo their number

Result<int> run_lengths(const std::string& path, const std::string& device, int64_t first, int count) {
  PLICA_TRY(const Model model, Model::load(path, {.device = device}));
  PLICA_TRY(Session session, model.session());
  std::vector<double> new_ms, host_us;
  std::vector<size_t> free_bytes;
  for (int i = 0; i < count; ++i) {
    const int64_t length = first + i * kStep % count;
    PLICA_TRY(const LengthCost cost, run_length(model, session, length));
    std::printf(
        "length %ld: new %.1f ms (planned in %.1f), then %.1f us of the host a run, %d kernels, %zu bytes free\n",
        static_cast<long>(length), cost.new_ms, session.state().planned->plan->plan_ms, cost.host_us, cost.num_kernels,
        cost.free_bytes);
    if (i > 0) new_ms.push_back(cost.new_ms);
    host_us.push_back(cost.host_us);
    free_bytes.push_back(cost.free_bytes);
  }
  const size_t half = free_bytes[free_bytes.size() / 2 - 1], end = free_bytes.back();
  std::printf(
      "new lengths: median %.1f ms, at most %.1f; the host: median %.1f us a run; free after half of them %zu bytes, "
      "after all %zu: %ld less\n",
      median(new_ms), *std::max_element(new_ms.begin(), new_ms.end()), median(host_us), half, end,
      static_cast<long>(half) - static_cast<long>(end));
  return 0;
}

}  // namespace
}  // namespace plica

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: plica_length_costs MODEL.onnx DEVICE [FIRST_LENGTH [COUNT]]\n");
    return 1;
  }
  const auto code = plica::run_lengths(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 100,
                                       std::max(2, argc > 4 ? std::atoi(argv[4]) : 100));
  if (!code) std::fprintf(stderr, "%s\n", plica::to_string(code.error()).c_str());
  return code ? *code : 2;
}
