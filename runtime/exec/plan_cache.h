#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/exec/plan.h"
#include "runtime/exec/signature.h"

namespace plica {

// A plan and what it is for.
struct Planned {
  Signature signature;
  std::shared_ptr<const Plan> plan;
  bool reads_values = false;  // some of the inputs' values decide

  // Whether the plan fits these inputs: types, and the values that it depends on. Allocates nothing.
  bool fits(std::span<const TensorView> inputs) const;
};

// The plans of one model, least recently used first out. Thread-safe; two threads that want the same plan wait for one.
class PlanCache {
 public:
  PlanCache(const Source& source, PlanOptions options, ConstantStore& constants, size_t capacity);

  // The plan for dense inputs. Their data is read only where shapes depend on it; kInvalidInput where it is null then.
  Result<std::shared_ptr<const Planned>> get(std::span<const TensorView> inputs);

  // A plan that is not kept.
  Result<std::shared_ptr<Plan>> plan_once(std::span<const TensorView> inputs);

  bool reads_value(size_t input) const;  // whether some shape is known to depend on its value
  size_t num_made() const;               // plans made and kept so far

 private:
  struct Slot {
    std::shared_ptr<const Planned> planned;  // null while a thread makes it
    uint64_t last_use = 0;
  };

  Result<Signature> signature_of(std::span<const TensorView> inputs);
  std::shared_ptr<const Planned> find_or_claim(const std::string& key);  // null: this thread makes it
  Result<std::shared_ptr<Plan>> make(const Signature& signature);        // null: values are needed, see value_inputs_
  void publish(const std::string& key, std::shared_ptr<const Planned> planned);

  const Source& source_;
  const PlanOptions options_;
  ConstantStore& constants_;
  const size_t capacity_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, Slot> slots_;  // by Signature::key
  std::vector<std::string> value_inputs_;        // one an input: why shapes depend on its value; empty: they do not
  uint64_t clock_ = 0;
  size_t num_made_ = 0;
};

}  // namespace plica
