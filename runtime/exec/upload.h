#pragma once

#include "runtime/exec/plan.h"

namespace plica {

// Moves the constants that the steps of a plan read to the device. Weights are copied once a model, through the store; what
// is made of sizes becomes a table of the plan. Gives the bytes that both take on the device.
Result<size_t> upload_constants(Plan& plan, DeviceContext& context, ConstantStore& constants);

// Where each table of a plan lies in memory that holds them all, and behind them how long that memory is.
std::vector<size_t> table_offsets(const Plan& plan);

}  // namespace plica
