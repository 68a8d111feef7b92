#include "ops/cuda/attention_turned.cuh"
#include "ops/cuda/attention_turned_steps.h"
#include "ops/rotary.h"

namespace plica::cuda::attention {
namespace {

bool knows(const RunStep& step) { return step.op == &rotary_op || step.op == &attention_op; }

size_t takes(std::span<const RunStep> steps) {
  const auto found = find_turned_steps(steps);
  return found ? found->count + 1 : 0;
}

Result<RunParts> prepare(std::span<const RunStep> steps, ConstantStore&) {
  return RunParts{std::make_shared<const TurnedSteps>(*find_turned_steps(steps)), {}, 0};
}

template <class T>
void launch(const TurnedAttention& p, cudaStream_t stream) {
  const auto launch_width = [&]<int kWidth>() {
    using C = TurnedTile<T, kWidth>;
    const dim3 grid(static_cast<unsigned>(ceil_div(p.rows, C::kQueries)), static_cast<unsigned>(p.heads),
                    static_cast<unsigned>(p.batch));
    cudaFuncSetAttribute(turned_attention_kernel<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSharedBytes);
    launch_early({grid, C::kThreads, C::kSharedBytes, stream}, turned_attention_kernel<C>, p);
  };
  switch (p.width) {
    case 16: return launch_width.template operator()<16>();
    case 32: return launch_width.template operator()<32>();
    case 64: return launch_width.template operator()<64>();
    default: return launch_width.template operator()<128>();
  }
}

void run(const RunArgs& run) {
  const TurnedAttention p = make_turned_attention(*static_cast<const TurnedSteps*>(run.state), run.steps);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  run.steps.back().out[0].type.dtype == DType::kF16 ? launch<F16>(p, stream) : launch<BF16>(p, stream);
}

}  // namespace

constinit const RunKernel turned_attention = {
    .name = "turned", .knows = knows, .takes = takes, .prepare = prepare, .run = run};

}  // namespace plica::cuda::attention
