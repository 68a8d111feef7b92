#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/map_program.h"
#include "ops/cuda/map_vectors.cuh"

namespace plica::cuda {
namespace {

using ops::Fn;

// The functions that expressions seldom have: called, not inlined, so that kernels stay small.
__device__ __noinline__ float seldom_fn(ops::Fn fn, float a, float b) {
  switch (fn) {
    case Fn::kAcos: return acosf(a);
    case Fn::kAcosh: return acoshf(a);
    case Fn::kAsin: return asinf(a);
    case Fn::kAsinh: return asinhf(a);
    case Fn::kAtan: return atanf(a);
    case Fn::kAtanh: return atanhf(a);
    case Fn::kCos: return cosf(a);
    case Fn::kCosh: return coshf(a);
    case Fn::kFmod: return fmodf(a, b);
    case Fn::kMod: {
      const float rest = fmodf(a, b);
      return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
    }
    case Fn::kPow: return powf(a, b);
    case Fn::kSin: return sinf(a);
    case Fn::kSinh: return sinhf(a);
    case Fn::kSoftplus: return fmaxf(a, 0.0f) + log1pf(expf(-fabsf(a)));
    case Fn::kTan: return tanf(a);
    default: return a;
  }
}

// kUnits vectors of V values in registers: what every step of the program works on. kSlots: kMapSlots, or 0 for a program
// that keeps no value (more threads fit then).
template <int V, int kUnits, int kSlots, int kRank>
struct Machine {
  static constexpr int kValues = V * kUnits;
  float accumulator[kValues], slots[kSlots + 1][kValues];
  MapPlace<kRank> place[kUnits];

  // The branches are the same for all threads: each costs a jump, and no value moves that need not.
  __device__ void fetch(const MapVectors& map, uint8_t source, float constant, float (&value)[kValues]) const {
    if (source < kMapInputs) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) load_vector<V>(map, map.in[source], place[u], value + u * V);
      return;
    }
    if (source == kAccumulator) return copy(accumulator, value);
    if constexpr (kSlots > 0) {
      switch (source) {
        case kFirstSlot: return copy(slots[0], value);
        case kFirstSlot + 1: return copy(slots[1], value);
        case kFirstSlot + 2: return copy(slots[2], value);
        case kFirstSlot + 3: return copy(slots[3], value);
        default: break;
      }
    }
#pragma unroll
    for (float& v : value) v = constant;
  }

  // Few values a thread: one waits for memory once, not for each input in turn.
  __device__ void ask_for_inputs(const MapVectors& map) const {
    for (int i = 0; i < map.num_inputs; ++i) {
      const auto* const x = static_cast<const std::byte*>(map.in[i].data);
      const auto at = place[0].offset(map, map.in[i]) * map.in[i].element_bytes;
      asm volatile("prefetch.global.L1 [%0];" ::"l"(__cvta_generic_to_global(x + at)));
    }
  }

  __device__ static void copy(const float (&from)[kValues], float (&to)[kValues]) {
#pragma unroll
    for (int i = 0; i < kValues; ++i) to[i] = from[i];
  }

  __device__ void save(uint8_t slot) {
    if constexpr (kSlots > 0) {
      switch (slot) {
        case kFirstSlot: return copy(accumulator, slots[0]);
        case kFirstSlot + 1: return copy(accumulator, slots[1]);
        case kFirstSlot + 2: return copy(accumulator, slots[2]);
        default: return copy(accumulator, slots[3]);
      }
    }
  }

  __device__ void step(const MapVectors& map, const MapCode& code) {
    float other[kValues];
    if (code.source != kNone) fetch(map, code.source, code.constant, other);
    if (code.swap) {
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        const float held = accumulator[i];
        accumulator[i] = other[i];
        other[i] = held;
      }
    }
    if (code.fn == static_cast<uint8_t>(Fn::kWhere)) {
      float third[kValues];
      fetch(map, code.second, code.second_constant, third);
#pragma unroll
      for (int i = 0; i < kValues; ++i) accumulator[i] = accumulator[i] != 0.0f ? other[i] : third[i];
    } else {
      apply(code.fn, other);
    }
    if (code.round != MapRound::kF32) round(code.round);
    if (kSlots > 0 && code.save != kNone) save(code.save);
  }

#define PLICA_EACH(expression)                            \
  {                                                       \
    _Pragma("unroll") for (int i = 0; i < kValues; ++i) { \
      const float a = accumulator[i], b = other[i];       \
      (void)a, (void)b;                                   \
      accumulator[i] = (expression);                      \
    }                                                     \
    return;                                               \
  }
  __device__ void apply(uint8_t fn, const float (&other)[kValues]) {
    if (fn == MapCode::kLoad) PLICA_EACH(b)
    if (fn == MapCode::kTruth) PLICA_EACH(a != 0.0f ? 1.0f : 0.0f)
    switch (static_cast<Fn>(fn)) {
      case Fn::kAbs: PLICA_EACH(fabsf(a))
      case Fn::kAdd: PLICA_EACH(a + b)
      case Fn::kSub: PLICA_EACH(a - b)
      case Fn::kMul: PLICA_EACH(a * b)
      case Fn::kDiv: PLICA_EACH(a / b)
      case Fn::kNeg: PLICA_EACH(-a)
      case Fn::kMax: PLICA_EACH(larger(a, b))
      case Fn::kMin: PLICA_EACH(smaller(a, b))
      case Fn::kRelu: PLICA_EACH(relu(a))
      case Fn::kExp: PLICA_EACH(expf(a))
      case Fn::kLog: PLICA_EACH(logf(a))
      case Fn::kSqrt: PLICA_EACH(sqrtf(a))
      case Fn::kErf: PLICA_EACH(erff(a))
      case Fn::kTanh: PLICA_EACH(tanhf(a))
      case Fn::kSigmoid: PLICA_EACH(sigmoid(a))
      case Fn::kSilu: PLICA_EACH(silu(a))
      case Fn::kGelu: PLICA_EACH(gelu(a))
      case Fn::kGeluTanh: PLICA_EACH(gelu_tanh(a))
      case Fn::kCeil: PLICA_EACH(ceilf(a))
      case Fn::kFloor: PLICA_EACH(floorf(a))
      case Fn::kRound: PLICA_EACH(rintf(a))
      case Fn::kSign: PLICA_EACH(a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a)
      case Fn::kEqual: PLICA_EACH(a == b ? 1.0f : 0.0f)
      case Fn::kLess: PLICA_EACH(a < b ? 1.0f : 0.0f)
      case Fn::kLessOrEqual: PLICA_EACH(a <= b ? 1.0f : 0.0f)
      case Fn::kAnd: PLICA_EACH(a != 0.0f && b != 0.0f ? 1.0f : 0.0f)
      case Fn::kOr: PLICA_EACH(a != 0.0f || b != 0.0f ? 1.0f : 0.0f)
      case Fn::kXor: PLICA_EACH((a != 0.0f) != (b != 0.0f) ? 1.0f : 0.0f)
      case Fn::kNot: PLICA_EACH(a == 0.0f ? 1.0f : 0.0f)
      case Fn::kIsNaN: PLICA_EACH(a != a ? 1.0f : 0.0f)
      case Fn::kIsInf: PLICA_EACH(isinf(a) ? 1.0f : 0.0f)
      case Fn::kCast: return;
      default: PLICA_EACH(seldom_fn(static_cast<Fn>(fn), a, b))
    }
  }
#undef PLICA_EACH

  __device__ void round(MapRound to) {
    if (to == MapRound::kF16) {
#pragma unroll
      for (float& x : accumulator) x = widen(narrow<F16>(x));
    } else {
#pragma unroll
      for (float& x : accumulator) x = widen(narrow<BF16>(x));
    }
  }
};

// The program is interpreted once for kUnits vectors of a thread; all threads take the same branches.
template <int V, int kUnits, int kSlots, int kRank>
__global__ void __launch_bounds__(kBlock, kSlots == 0 ? 4 : 2)
    interpret(const __grid_constant__ MapVectors map, const __grid_constant__ MapProgram program) {
  wait_for_earlier();
  Machine<V, kUnits, kSlots, kRank> machine;
#pragma unroll
  for (int u = 0; u < kUnits; ++u)
    machine.place[u].find(map, ((int64_t{blockIdx.x} * kUnits + u) * kBlock + threadIdx.x) * V, V);
  if (V * kUnits == 1 && machine.place[0].valid > 0) machine.ask_for_inputs(map);
  for (int pc = 0; pc < program.num_codes; ++pc) {
    const MapCode code = program.codes[pc];
    machine.step(map, code);
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) store_vector<V>(map, machine.place[u], machine.accumulator + u * V);
}

template <int V, int kUnits, int kSlots>
void launch(const MapVectors& map, const MapProgram& program, cudaStream_t stream) {
  const EarlyLaunch to{blocks_for(map.count, int64_t{kBlock} * V * kUnits), kBlock, 0, stream};
  if (V > 1 && map.rank == 1)
    launch_early(to, interpret < V, kUnits, kSlots, V == 1 ? kMapAxes : 1 >, map, program);
  else
    launch_early(to, interpret<V, kUnits, kSlots, kMapAxes>, map, program);
}

bool keeps_values(const MapProgram& program) {
  bool keeps = false;
  for (int i = 0; i < program.num_codes; ++i) keeps |= program.codes[i].save != kNone;
  return keeps;
}

}  // namespace

void run_map_program(const MapProgram& program, const KernelArgs& args) {
  MapVectors map;
  if (!map_vectors(args, map) || map.count == 0) return;
  bool all_small = size_of(map.y.dtype) <= 2;
  for (int i = 0; i < map.num_inputs; ++i)
    all_small &= size_of(map.in[i].dtype) <= 2 || map.in[i].stride[map.rank - 1] == 0;
  constexpr std::array kWidths{8, 4, 1};
  constexpr int64_t kFew = 1 << 16;  // elements: threads with less to do for each step are done sooner
  switch (set_width(map, std::span(kWidths).subspan(map.count <= kFew ? 2 : all_small ? 0 : 1))) {
    case 8:
      if (keeps_values(program)) return launch<8, 1, kMapSlots>(map, program, stream_of(args));
      return launch<8, 1, 0>(map, program, stream_of(args));
    case 4:
      if (keeps_values(program)) return launch<4, 2, kMapSlots>(map, program, stream_of(args));
      return launch<4, 2, 0>(map, program, stream_of(args));
    default:
      if (map.count <= kFew) return launch<1, 1, kMapSlots>(map, program, stream_of(args));
      return launch<1, 4, kMapSlots>(map, program, stream_of(args));
  }
}

}  // namespace plica::cuda
