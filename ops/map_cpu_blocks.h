#pragma once

#include "ops/map.h"
#include "ops/op.h"

// The kernel of Map for f32 and bool: each instruction runs on a block of values that stays in the first-level cache.
namespace plica::map_blocks {

inline constexpr size_t kMaxInputs = 12;
inline constexpr uint32_t kInPlace = (1u << kMaxInputs) - 1;

const char* declines(const ops::Map& op, const Case& c);
size_t scratch_bytes(const ops::Map& op, const Case& c);
Result<KernelState> prepare(const ops::Map& op, const Case& c, ConstantStore& constants);
void run(const ops::Map& op, const KernelArgs& args);

}  // namespace plica::map_blocks
