#include "runtime/exec/plan_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/core/shape.h"

namespace plica {

bool Planned::fits(std::span<const TensorView> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = signature.inputs[i];
    if (type.dtype != inputs[i].type.dtype || type.shape != inputs[i].type.shape) return false;
    const std::optional<Tensor>& value = signature.values[i];
    if (value && std::memcmp(value->data(), inputs[i].data, value->num_bytes()) != 0) return false;
  }
  return true;
}

PlanCache::PlanCache(const Source& source, PlanOptions options, ConstantStore& constants, size_t capacity)
    : source_(source),
      options_(std::move(options)),
      constants_(constants),
      capacity_(std::max<size_t>(capacity, 1)),
      value_inputs_(source.inputs.size()) {}

Result<std::shared_ptr<const Planned>> PlanCache::get(std::span<const TensorView> inputs) {
  while (true) {
    PLICA_TRY(Signature signature, signature_of(inputs));
    const std::string key = signature.key();
    if (std::shared_ptr<const Planned> planned = find_or_claim(key)) return planned;

    // Whatever happens while planning, those who wait for this plan are woken.
    struct Publisher {
      PlanCache& cache;
      const std::string& key;
      std::shared_ptr<const Planned> planned;
      ~Publisher() { cache.publish(key, std::move(planned)); }
    } publisher{*this, key, nullptr};
    PLICA_TRY(std::shared_ptr<const Plan> plan, make(signature));
    if (plan == nullptr) continue;
    const bool reads_values = std::any_of(signature.values.begin(), signature.values.end(),
                                          [](const std::optional<Tensor>& value) { return value.has_value(); });
    publisher.planned = std::make_shared<const Planned>(Planned{std::move(signature), std::move(plan), reads_values});
    return publisher.planned;
  }
}

Result<std::shared_ptr<Plan>> PlanCache::plan_once(std::span<const TensorView> inputs) {
  while (true) {
    PLICA_TRY(const Signature signature, signature_of(inputs));
    PLICA_TRY(std::shared_ptr<Plan> plan, make(signature));
    if (plan != nullptr) return plan;
  }
}

Result<Signature> PlanCache::signature_of(std::span<const TensorView> inputs) {
  Signature signature;
  signature.values.resize(inputs.size());
  for (const TensorView& input : inputs) signature.inputs.push_back({input.type.dtype, input.type.shape, {}});
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (value_inputs_[i].empty()) continue;
    const TensorType& type = signature.inputs[i];
    if (inputs[i].data == nullptr && num_elements(type.shape) != 0)
      return Error(Code::kInvalidInput,
                   "input '" + source_.inputs[i].name + "': its value is needed to plan: " + value_inputs_[i]);
    PLICA_TRY(Tensor value, Tensor::zeros(type.dtype, type.shape));
    if (value.num_bytes() > 0) std::memcpy(value.data(), inputs[i].data, value.num_bytes());
    signature.values[i] = std::move(value);
  }
  return signature;
}

std::shared_ptr<const Planned> PlanCache::find_or_claim(const std::string& key) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto [found, claimed] = slots_.try_emplace(key);
    if (claimed) return nullptr;
    found->second.last_use = ++clock_;
    if (found->second.planned != nullptr) return found->second.planned;
    changed_.wait(lock);
  }
}

Result<std::shared_ptr<Plan>> PlanCache::make(const Signature& signature) {
  const auto start = std::chrono::steady_clock::now();
  PLICA_TRY(auto specialised, source_.specialise(signature));
  if (auto* needs = std::get_if<NeedsValues>(&specialised)) {
    const std::lock_guard lock(mutex_);
    bool any_new = false;
    for (int i : needs->inputs) {
      const auto idx = static_cast<size_t>(i);
      any_new |= !signature.values[idx].has_value();
      value_inputs_[idx] = needs->why.empty() ? "a shape depends on it" : needs->why;
    }
    if (!any_new) return Error(Code::kInternal, "specialising asks again for values that it has: " + needs->why);
    return std::shared_ptr<Plan>();
  }
  const std::chrono::duration<double, std::milli> specialise_ms = std::chrono::steady_clock::now() - start;
  PLICA_TRY(std::shared_ptr<Plan> plan, make_plan(std::get<Graph>(std::move(specialised)), options_, constants_));
  if (plan->inputs != signature.inputs)
    return Error(Code::kInternal, "the graph's inputs are not of the types that it was specialised for");
  plan->plan_ms += specialise_ms.count();
  return plan;
}

void PlanCache::publish(const std::string& key, std::shared_ptr<const Planned> planned) {
  const std::lock_guard lock(mutex_);
  if (planned == nullptr) {
    slots_.erase(key);
  } else {
    slots_[key] = {std::move(planned), ++clock_};
    ++num_made_;
    while (slots_.size() > capacity_) {
      auto oldest = slots_.end();
      for (auto slot = slots_.begin(); slot != slots_.end(); ++slot)
        if (slot->second.planned != nullptr &&
            (oldest == slots_.end() || slot->second.last_use < oldest->second.last_use))
          oldest = slot;
      if (oldest == slots_.end() || oldest->first == key) break;
      slots_.erase(oldest);
    }
  }
  changed_.notify_all();
}

bool PlanCache::reads_value(size_t input) const {
  const std::lock_guard lock(mutex_);
  return !value_inputs_[input].empty();
}

size_t PlanCache::num_made() const {
  const std::lock_guard lock(mutex_);
  return num_made_;
}

}  // namespace plica
