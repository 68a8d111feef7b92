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

struct Rates {
  double bytes_per_s, flops_per_s, limit_percent;
};

Rates rates_of(const Step& step, double ms, const StepLimit& limit) {
  const double seconds = std::max(ms, 1e-6) * 1e-3;
  const double best = std::max(step.cost.flops / limit.flops_per_s(step), step.cost.bytes / limit.others.bytes_per_s);
  return {step.cost.bytes / seconds, step.cost.flops / seconds, 100 * best / seconds};
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

double StepLimit::flops_per_s(const Step& step) const {
  const DType dtype = step.out.empty() ? DType::kF32 : step.out[0].type.dtype;
  if ((dtype == DType::kF16 || dtype == DType::kBF16) && half_flops_per_s > 0) return half_flops_per_s;
  return dtype == DType::kF32 && product_flops_per_s > 0 ? product_flops_per_s : others.flops_per_s;
}

StepLimit machine_limit(const DeviceContext& context, Precision precision) {
  if (context.traits().device == Device::kCpu) return {measure_machine(context.traits().num_threads), 0, 0};
  const DeviceLimits limits = context.limits();
  StepLimit limit{{limits.f32_flops_per_s, limits.bytes_per_s}, limits.half_flops_per_s, 0};
  if (precision == Precision::kTf32) limit.product_flops_per_s = limits.tf32_flops_per_s;
  if (precision == Precision::kTf32x3) limit.product_flops_per_s = limits.tf32_flops_per_s / 3;
  return limit;
}

std::string step_table(const Plan& plan, const std::vector<double>& step_ms, const StepLimit& limit) {
  const double total = std::accumulate(step_ms.begin(), step_ms.end(), 0.0);
  std::string text = " share        ms     GB/s  GFLOP/s  limit  step\n";
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Rates rates = rates_of(step, step_ms[i], limit);
    char line[160];
    std::snprintf(line, sizeof line, "%5.1f%% %9.4f %8.2f %8.2f %5.0f%%  ", 100 * step_ms[i] / std::max(total, 1e-9),
                  step_ms[i], rates.bytes_per_s * 1e-9, rates.flops_per_s * 1e-9, rates.limit_percent);
    text += line;
    text.append(step.op->name)
        .append(".")
        .append(step.kernel->name)
        .append("  ")
        .append(shapes_of(step.out))
        .append("\n");
  }
  for (const StepRun& run : plan.runs) text += to_text(run) + "; timed alone here\n";
  char line[160];
  std::snprintf(line, sizeof line, "all steps %.4f ms; this machine at best: %.1f GFLOP/s, %.1f GB/s\n", total,
                limit.others.flops_per_s * 1e-9, limit.others.bytes_per_s * 1e-9);
  return text + line;
}

nlohmann::ordered_json step_rows(const Plan& plan, const std::vector<double>& step_ms, const StepLimit& limit) {
  auto rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Rates rates = rates_of(step, step_ms[i], limit);
    rows.push_back({{"op", step.op->name},
                    {"kernel", step.kernel->name},
                    {"node", step.name},
                    {"results", shapes_of(step.out)},
                    {"ms", step_ms[i]},
                    {"gb_per_s", rates.bytes_per_s * 1e-9},
                    {"tflop_per_s", rates.flops_per_s * 1e-12},
                    {"limit_percent", rates.limit_percent}});
    if (const StepRun* run = plan.run_of(i))
      rows.back()["run"] = {{"kernel", run->kernel->name}, {"first", run->first}, {"last", run->last()}};
  }
  return rows;
}

}  // namespace plica
