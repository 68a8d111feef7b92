#pragma once

#include "ops/attention.h"
#include "ops/op.h"

// The f32 kernel of Attention on ops/cpu/attention.h: a block of queries of one head at a time, online softmax.
namespace plica::attention_flash {

const char* declines(const ops::Attention& op, const Case& c);
size_t scratch_bytes(const ops::Attention& op, const Case& c);
void run(const ops::Attention& op, const KernelArgs& args);

}  // namespace plica::attention_flash
