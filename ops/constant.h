#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "plica/tensor.h"
#include "runtime/core/result.h"

namespace plica {

// A tensor whose value is known before any run: an initializer of the file, or what was computed from such.
// `key` is the same for the same value in every plan of one model: "w12" for initializer 12, "Concat{axis=1}(w3,w4)"
// for an expression, a hash of the content for a small one.
struct Constant {
  TensorType type;                    // dense
  const void* data = nullptr;         // null where there are no elements, and in a deferred constant
  std::shared_ptr<const void> owner;  // keeps data alive; null where the model's file does
  std::string key;

  // Set in a deferred constant: makes its value, anew at each call. Who reads it asks the ConstantStore.
  std::function<Result<std::shared_ptr<const Constant>>()> make = {};
};
using ConstantPtr = std::shared_ptr<const Constant>;

ConstantPtr make_constant(Tensor tensor);                   // key from the content
ConstantPtr make_constant(Tensor tensor, std::string key);  // key given

// The derived constants of one model: folded, transposed, merged, packed or converted weights. Thread-safe.
class ConstantStore {
 public:
  // What `key` names; made by `make` where nobody has before. Two threads never make the same key at once; `make` may
  // ask for other keys, and an error is not kept.
  Result<ConstantPtr> get(const std::string& key, const std::function<Result<ConstantPtr>()>& make);

  // The constant with its data: itself, or the value of a deferred one, which stays from then on.
  Result<ConstantPtr> kept(const ConstantPtr& constant);

  // The same for a reader who needs it for a moment: the value of a deferred constant is his alone where nobody keeps it.
  Result<ConstantPtr> borrowed(const ConstantPtr& constant);

  size_t num_made() const;   // how often `make` ran: a plan for a new length leaves this unchanged
  size_t num_bytes() const;  // of what is held: a deferred constant has none

 private:
  struct Slot {
    std::mutex making;
    ConstantPtr made;
  };

  std::shared_ptr<Slot> find(const std::string& key) const;  // null where nobody asked for it

  mutable std::mutex mutex_;  // of the members below; held only for a look
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
  size_t num_made_ = 0, num_bytes_ = 0;
};

}  // namespace plica
