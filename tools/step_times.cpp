#include "tools/step_times.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace plica {
namespace {

std::string shapes_of(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places)
    if (place.kind != Place::Kind::kAbsent) text += (text.empty() ? "" : ", ") + to_string(place.type);
  return text;
}

}  // namespace

std::vector<double> median_times(const std::vector<std::vector<double>>& runs) {
  std::vector<double> medians;
  for (size_t step = 0; !runs.empty() && step < runs.front().size(); ++step) {
    std::vector<double> times;
    for (const std::vector<double>& run : runs) times.push_back(run[step]);
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    medians.push_back(times[times.size() / 2]);
  }
  return medians;
}

std::string step_table(const Plan& plan, const std::vector<double>& step_ms, const MachineLimit& limit) {
  const double total = std::accumulate(step_ms.begin(), step_ms.end(), 0.0);
  std::string text = " share        ms     GB/s  GFLOP/s  limit  step\n";
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const double seconds = std::max(step_ms[i], 1e-6) * 1e-3;
    const double best = std::max(step.cost.flops / limit.flops_per_s, step.cost.bytes / limit.bytes_per_s);
    char line[160];
    std::snprintf(line, sizeof line, "%5.1f%% %9.4f %8.2f %8.2f %5.0f%%  ", 100 * step_ms[i] / std::max(total, 1e-9),
                  step_ms[i], step.cost.bytes / seconds * 1e-9, step.cost.flops / seconds * 1e-9, 100 * best / seconds);
    text += line;
    text.append(step.op->name)
        .append(".")
        .append(step.kernel->name)
        .append("  ")
        .append(shapes_of(step.out))
        .append("\n");
  }
  char line[160];
  std::snprintf(line, sizeof line, "all steps %.3f ms; this machine at best: %.1f GFLOP/s, %.1f GB/s\n", total,
                limit.flops_per_s * 1e-9, limit.bytes_per_s * 1e-9);
  return text + line;
}

}  // namespace plica
