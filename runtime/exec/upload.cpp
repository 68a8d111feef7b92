#include "runtime/exec/upload.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr size_t kAlignment = 256;

size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Uploader {
 public:
  Uploader(Plan& plan, DeviceContext& context, ConstantStore& constants)
      : plan_(plan), context_(context), constants_(constants) {}

  Status move(Place& place) {
    const ConstantPtr base = place.base != nullptr ? place.base : place.constant;
    const auto offset = static_cast<const std::byte*>(place.constant->data) - static_cast<const std::byte*>(base->data);
    PLICA_TRY(const Moved moved, moved_to(base));
    if (moved.table >= 0) {
      place.kind = Place::Kind::kTable;
      place.index = moved.table;
      place.offset_bytes = offset;
      place.constant = nullptr;
    } else {
      const void* data = static_cast<const std::byte*>(moved.constant->data) + offset;
      place.constant =
          std::make_shared<const Constant>(Constant{place.type, data, moved.constant, place.constant->key});
    }
    place.base = nullptr;
    return {};
  }

  size_t num_bytes() const { return num_bytes_; }

 private:
  struct Moved {
    ConstantPtr constant;  // on the device
    int table = -1;        // or the number of the plan's table
  };

  // Constants that share memory share it on the device too.
  Result<Moved> moved_to(const ConstantPtr& base) {
    const auto known = moved_.find(base->data);
    if (known != moved_.end()) return known->second;
    Moved moved;
    if (is_of_the_model(*base)) {
      PLICA_TRY(moved.constant, upload(*base));
    } else {
      moved.table = static_cast<int>(plan_.tables.size());
      plan_.tables.push_back(base);
    }
    num_bytes_ += round_up(plica::num_bytes(base->type));
    return moved_.emplace(base->data, std::move(moved)).first->second;
  }

  // The file's own weights ("w12"), and what the store keeps. All else goes with the plan.
  bool is_of_the_model(const Constant& constant) const {
    const std::string& key = constant.key;
    if (key.starts_with('c')) return false;  // by its content
    if (key.size() > 1 && key[0] == 'w' && key.find_first_not_of("0123456789", 1) == std::string::npos) return true;
    const auto unknown = []() -> Result<ConstantPtr> { return Error(Code::kInternal, "not kept"); };
    const auto known = constants_.get(key, unknown);
    if (!known) return false;
    const auto kept = constants_.kept(*known);
    return kept && (*kept)->data == constant.data;
  }

  // Keyed by the memory, which lives as long as the model: a weight has one copy under whatever shape it is seen.
  Result<ConstantPtr> upload(const Constant& constant) {
    const size_t bytes = plica::num_bytes(constant.type);
    const std::string key =
        "device(" + std::to_string(reinterpret_cast<uintptr_t>(constant.data)) + "+" + std::to_string(bytes) + ")";
    return constants_.get(key, [&]() -> Result<ConstantPtr> {
      PLICA_TRY(std::shared_ptr<void> memory,
                context_.upload(constant.data, bytes).context("moving the weights to " + context_.name()));
      const void* data = memory.get();
      return std::make_shared<const Constant>(Constant{constant.type, data, std::move(memory), key});
    });
  }

  Plan& plan_;
  DeviceContext& context_;
  ConstantStore& constants_;
  std::unordered_map<const void*, Moved> moved_;  // by the host's memory
  size_t num_bytes_ = 0;
};

}  // namespace

Result<size_t> upload_constants(Plan& plan, DeviceContext& context, ConstantStore& constants) {
  Uploader uploader(plan, context, constants);
  for (Step& step : plan.steps)
    for (Place& place : step.in)
      if (place.kind == Place::Kind::kConstant && place.constant->data != nullptr && num_bytes(place.type) > 0)
        PLICA_CHECK(uploader.move(place));
  for (StepRun& run : plan.runs) {
    for (Place& place : run.constants) PLICA_CHECK(uploader.move(place));
    if (run.own.kind == Place::Kind::kConstant) PLICA_CHECK(uploader.move(run.own));
  }
  return uploader.num_bytes();
}

std::vector<size_t> table_offsets(const Plan& plan) {
  std::vector<size_t> offsets{0};
  for (const ConstantPtr& table : plan.tables) offsets.push_back(offsets.back() + round_up(num_bytes(table->type)));
  return offsets;
}

}  // namespace plica
