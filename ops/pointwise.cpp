#include "ops/pointwise.h"

#include <array>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace ops {
namespace {

constexpr FnDef kFns[] = {
#define PLICA_POINTWISE(name, inputs, result) {#name, inputs, FnResult::result},
#include "ops/pointwise_list.inc"
#undef PLICA_POINTWISE
};

}  // namespace

const FnDef& def_of(Fn fn) { return kFns[static_cast<size_t>(fn)]; }

}  // namespace ops

namespace {

using ops::Fn;
using ops::FnResult;

constexpr std::string_view kInputs[] = {"x", "y", "z"};

bool is_commutative(Fn fn) {
  switch (fn) {
    case Fn::kAdd:
    case Fn::kMul:
    case Fn::kMin:
    case Fn::kMax:
    case Fn::kAnd:
    case Fn::kOr:
    case Fn::kXor:
    case Fn::kBitAnd:
    case Fn::kBitOr:
    case Fn::kBitXor:
    case Fn::kEqual: return true;
    default: return false;
  }
}

Result<TensorType> infer_fn(Fn fn, DType cast_to, InTypes in) {
  const ops::FnDef& def = ops::def_of(fn);
  TensorType out{in[0]->dtype, in[0]->shape, {}};
  const size_t first = def.result == FnResult::kSelect ? 1 : 0;
  for (size_t i = 1; i < in.size(); ++i) {
    PLICA_TRY(out.shape, broadcast(out.shape, in[i]->shape));
    const bool shift = fn == Fn::kPow;  // its exponent may be of another type
    if (i > first && !shift && in[i]->dtype != in[first]->dtype)
      return Error(Code::kInvalidModel, std::string(def.name) + ": operands of type " +
                                            std::string(name_of(in[first]->dtype)) + " and " +
                                            std::string(name_of(in[i]->dtype)) + ", wanted one type");
  }
  switch (def.result) {
    case FnResult::kSame: break;
    case FnResult::kBool: out.dtype = DType::kBool; break;
    case FnResult::kCast: out.dtype = cast_to; break;
    case FnResult::kSelect:
      if (in[0]->dtype != DType::kBool)
        return Error(Code::kInvalidModel,
                     "Where: the condition is " + std::string(name_of(in[0]->dtype)) + ", wanted bool");
      out.dtype = in[1]->dtype;
      break;
  }
  return out;
}

template <Fn kFn>
Result<Types> infer_primitive(const void* attrs, InTypes in) {
  DType to = DType::kF32;
  if constexpr (kFn == Fn::kCast) to = static_cast<const ops::Cast*>(attrs)->to;
  PLICA_TRY(TensorType out, infer_fn(kFn, to, in));
  return Types{std::move(out)};
}

template <Fn kFn>
constexpr OpDef primitive() {
  OpDef op{};
  op.name = ops::kFns[static_cast<size_t>(kFn)].name;
  op.inputs = std::span(kInputs).first(static_cast<size_t>(ops::kFns[static_cast<size_t>(kFn)].num_inputs));
  op.attrs = kFn == Fn::kCast ? &kAttrsDef<ops::Cast> : &kAttrsDef<ops::Pointwise>;
  op.infer = infer_primitive<kFn>;
  op.commutative = is_commutative(kFn);
  return op;
}

const OpDef kOps[] = {
#define PLICA_POINTWISE(name, inputs, result) primitive<Fn::k##name>(),
#include "ops/pointwise_list.inc"
#undef PLICA_POINTWISE
};

}  // namespace

std::span<const OpDef> pointwise_ops() { return kOps; }
const OpDef& pointwise_op(ops::Fn fn) { return kOps[static_cast<size_t>(fn)]; }
bool is_pointwise(const OpDef& op) { return &op >= std::begin(kOps) && &op < std::end(kOps); }
ops::Fn fn_of(const OpDef& op) { return static_cast<Fn>(&op - kOps); }

}  // namespace plica
