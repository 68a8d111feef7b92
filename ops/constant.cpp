#include "ops/constant.h"

#include <cstring>

#include "runtime/core/shape.h"

namespace plica {
namespace {

// FNV-1a over 8-byte words, then the tail: an identity for small tensors, not a defence against made-up collisions.
uint64_t hash_of(const void* data, size_t num_bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (; num_bytes >= 8; num_bytes -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  for (; num_bytes > 0; --num_bytes, ++bytes) hash = (hash ^ *bytes) * 0x100000001b3u;
  return hash;
}

std::string value_key(const Constant& deferred) { return "value(" + deferred.key + ")"; }

}  // namespace

ConstantPtr make_constant(Tensor tensor) {
  std::string key = "c" + to_string(tensor.type());
  const size_t bytes = tensor.num_bytes();
  if (bytes <= 16) {
    key.append(":").append(static_cast<const char*>(tensor.data()), bytes);
  } else {
    key.append("#").append(std::to_string(hash_of(tensor.data(), bytes)));
  }
  return make_constant(std::move(tensor), std::move(key));
}

ConstantPtr make_constant(Tensor tensor, std::string key) {
  auto owner = std::make_shared<const Tensor>(std::move(tensor));
  return std::make_shared<const Constant>(Constant{owner->type(), owner->data(), owner, std::move(key)});
}

Result<ConstantPtr> ConstantStore::get(const std::string& key, const std::function<Result<ConstantPtr>()>& make) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& known = slots_[key];
    if (known == nullptr) known = std::make_shared<Slot>();
    slot = known;
  }
  const std::lock_guard making(slot->making);
  if (slot->made != nullptr) return slot->made;
  PLICA_TRY(slot->made, make());
  const std::lock_guard lock(mutex_);
  ++num_made_;
  if (slot->made->make == nullptr) num_bytes_ += plica::num_bytes(slot->made->type);
  return slot->made;
}

Result<ConstantPtr> ConstantStore::kept(const ConstantPtr& constant) {
  if (constant->make == nullptr) return constant;
  return get(value_key(*constant), constant->make);
}

Result<ConstantPtr> ConstantStore::borrowed(const ConstantPtr& constant) {
  if (constant->make == nullptr) return constant;
  if (const std::shared_ptr<Slot> slot = find(value_key(*constant))) {
    const std::lock_guard making(slot->making);
    if (slot->made != nullptr) return slot->made;
  }
  return constant->make();
}

std::shared_ptr<ConstantStore::Slot> ConstantStore::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(key);
  return found == slots_.end() ? nullptr : found->second;
}

size_t ConstantStore::num_made() const {
  const std::lock_guard lock(mutex_);
  return num_made_;
}

size_t ConstantStore::num_bytes() const {
  const std::lock_guard lock(mutex_);
  return num_bytes_;
}

}  // namespace plica
