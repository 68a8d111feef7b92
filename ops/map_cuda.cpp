#include "ops/cuda/map_cast.h"
#include "ops/cuda/map_code.h"
#include "ops/cuda/map_hot.h"
#include "ops/cuda/map_program.h"
#include "ops/cuda/map_scalar.h"
#include "ops/cuda/map_vectors.h"
#include "ops/cuda/rank.h"
#include "ops/map.h"
#include "ops/op.h"

namespace plica {
namespace {

const char* declines_cast(const ops::Map& op, const Case& c) {
  if (const char* why = cuda::map_vectors_decline(c)) return why;
  return cuda::is_float_cast(op.program, c) ? nullptr : "the expression is not a cast of floats of up to 32 bits";
}

void run_cast(const ops::Map&, const KernelArgs& args) { cuda::run_float_cast(args); }

const char* declines_compiled(const ops::Map& op, const Case& c) {
  if (const char* why = cuda::map_vectors_decline(c)) return why;
  return cuda::find_hot(op.program, c) < 0 ? "the expression is not one of those compiled" : nullptr;
}

Result<KernelState> prepare_compiled(const ops::Map& op, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const int>(cuda::find_hot(op.program, c)));
}

void run_compiled(const ops::Map&, const KernelArgs& args) {
  cuda::run_hot(*static_cast<const int*>(args.state), args);
}

const char* declines_interpreted(const ops::Map& op, const Case& c) {
  if (const char* why = cuda::map_vectors_decline(c)) return why;
  const char* why = nullptr;
  cuda::translate(op.program, c, &why);
  return why;
}

Result<KernelState> prepare_interpreted(const ops::Map& op, const Case& c, ConstantStore&) {
  const char* why = nullptr;
  const auto program = cuda::translate(op.program, c, &why);
  if (!program) return Error(Code::kInternal, std::string("Map: ") + why);
  return KernelState(std::make_shared<const cuda::MapProgram>(*program));
}

void run_interpreted(const ops::Map&, const KernelArgs& args) {
  cuda::run_map_program(*static_cast<const cuda::MapProgram*>(args.state), args);
}

const char* declines_scalar(const ops::Map& op, const Case& c) {
  if (const char* why = cuda::over_rank(c)) return why;
  return cuda::decode(op.program, c) ? nullptr : "more than 16 inputs or 48 instructions";
}

Result<KernelState> prepare_scalar(const ops::Map& op, const Case& c, ConstantStore&) {
  const auto program = cuda::decode(op.program, c);
  if (!program) return Error(Code::kInternal, "Map: a program too long for the scalar kernel");
  return KernelState(std::make_shared<const cuda::ScalarProgram>(*program));
}

void run_scalar(const ops::Map&, const KernelArgs& args) {
  cuda::run_map_scalar(*static_cast<const cuda::ScalarProgram*>(args.state), args);
}

// All inputs: an element is read before it is written, by the same thread.
constexpr uint32_t kAnyInput = 0xff;

constexpr Kernel kKernels[] = {
    {.name = "cast", .declines = As<ops::Map>::fn<declines_cast>, .run = As<ops::Map>::fn<run_cast>},
    {.name = "compiled",
     .declines = As<ops::Map>::fn<declines_compiled>,
     .prepare = As<ops::Map>::fn<prepare_compiled>,
     .run = As<ops::Map>::fn<run_compiled>,
     .in_place = kAnyInput},
    {.name = "interpreted",
     .declines = As<ops::Map>::fn<declines_interpreted>,
     .prepare = As<ops::Map>::fn<prepare_interpreted>,
     .run = As<ops::Map>::fn<run_interpreted>,
     .in_place = kAnyInput},
    {.name = "scalar",
     .declines = As<ops::Map>::fn<declines_scalar>,
     .prepare = As<ops::Map>::fn<prepare_scalar>,
     .run = As<ops::Map>::fn<run_scalar>,
     .in_place = kAnyInput},
};

}  // namespace

constinit const Kernels map_cuda_kernels = kKernels;

}  // namespace plica
