#pragma once

#include "ops/attention.h"
#include "ops/op.h"

// The kernels of Attention on CUDA, each in files of its own.
namespace plica::cuda::attention {

// A warp a query: any type, any width, any strides.
void run_row(const ops::Attention& op, const KernelArgs& args);

// Why the kernels below, which hold tiles of queries and keys, cannot take a case whatever its type.
const char* tiles_decline(const ops::Attention& op, const Case& c);

// Tensor cores through instructions of sm_80: bf16, fp16, fp32 as tf32 or tf32x3; widths up to 256.
const char* declines_mma(const ops::Attention& op, const Case& c);
Result<KernelState> prepare_mma(const ops::Attention& op, const Case& c, ConstantStore&);
void run_mma(const ops::Attention& op, const KernelArgs& args);

// Tensor cores through Hopper's own instructions: bf16, fp16; widths up to 128, rows of whole 16 bytes.
const char* declines_wgmma(const ops::Attention& op, const Case& c);
size_t scratch_wgmma(const ops::Attention& op, const Case& c);
Result<KernelState> prepare_wgmma(const ops::Attention& op, const Case& c, ConstantStore&);
void run_wgmma(const ops::Attention& op, const KernelArgs& args);

// Ordinary arithmetic units: fp32 as it is; widths up to 256.
const char* declines_simt(const ops::Attention& op, const Case& c);
void run_simt(const ops::Attention& op, const KernelArgs& args);

// Their instantiations, by type and by width.
struct Shape;
struct Pointers;
struct WgmmaRun;
void run_wgmma_bf16(const Shape& shape, const Pointers& p, const WgmmaRun& run);
void run_wgmma_f16(const Shape& shape, const Pointers& p, const WgmmaRun& run);
void run_mma_bf16(const Shape& shape, const KernelArgs& args);
void run_mma_f16(const Shape& shape, const KernelArgs& args);
void run_mma_tf32(const Shape& shape, const KernelArgs& args);
void run_mma_tf32x3(const Shape& shape, const KernelArgs& args);
void run_simt_16(const Shape& shape, const KernelArgs& args);
void run_simt_32(const Shape& shape, const KernelArgs& args);
void run_simt_64(const Shape& shape, const KernelArgs& args);
void run_simt_128(const Shape& shape, const KernelArgs& args);
void run_simt_256(const Shape& shape, const KernelArgs& args);

}  // namespace plica::cuda::attention
