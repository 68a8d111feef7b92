#include <gtest/gtest.h>

#include <cmath>

#include "ops/cuda/map_code.h"

namespace plica::cuda {
namespace {

using ops::Fn;

float apply(const MapCode& code, float a, float b, float c) {
  if (code.swap) std::swap(a, b);
  if (code.fn == MapCode::kLoad) return b;
  if (code.fn == MapCode::kTruth) return a != 0;
  switch (static_cast<Fn>(code.fn)) {
    case Fn::kAdd: return a + b;
    case Fn::kSub: return a - b;
    case Fn::kMul: return a * b;
    case Fn::kDiv: return a / b;
    case Fn::kNeg: return -a;
    case Fn::kLess: return a < b;
    case Fn::kPow: return std::pow(a, b);
    case Fn::kWhere: return a != 0 ? b : c;
    default: return a;
  }
}

// What the machine makes of the inputs.
float run(const MapProgram& program, const std::vector<float>& x) {
  float accumulator = 0, slots[kMapSlots] = {};
  for (int pc = 0; pc < program.num_codes; ++pc) {
    const MapCode& code = program.codes[pc];
    const auto fetch = [&](uint8_t source, float constant) {
      if (source < kFirstSlot) return x[source];
      if (source < kConstant) return slots[source - kFirstSlot];
      return source == kConstant ? constant : source == kAccumulator ? accumulator : 0.0f;
    };
    const float second = fetch(code.source, code.constant), third = fetch(code.second, code.second_constant);
    accumulator = apply(code, accumulator, second, third);
    if (code.save != kNone) slots[code.save - kFirstSlot] = accumulator;
  }
  return accumulator;
}

struct Translation {
  std::optional<MapProgram> program;
  const char* why = nullptr;
};

Translation translation(const char* text, DType dtype = DType::kF32) {
  const auto program = ops::Program::from_text(text);
  EXPECT_TRUE(program) << text;
  const TensorType type{dtype, {4}, {}};
  const std::vector<Operand> in(static_cast<size_t>(program->num_inputs), Operand{&type, nullptr, 64});
  Case c;
  c.in = in;
  Translation result;
  result.program = translate(*program, c, &result.why);
  return result;
}

float value(const char* text, const std::vector<float>& x) {
  const Translation result = translation(text);
  EXPECT_TRUE(result.program) << text << ": " << result.why;
  return result.program ? run(*result.program, x) : NAN;
}

TEST(MapCode, KeepsTheOrderOfOperands) {
  EXPECT_EQ(value("Sub(x0,x1)", {7, 2}), 5);
  EXPECT_EQ(value("Sub(x1,x0)", {7, 2}), -5);
  EXPECT_EQ(value("Sub(x0,Mul(x1,x1))", {7, 2}), 3);
  EXPECT_EQ(value("Div(Add(x0,x1),Sub(x0,x1))", {6, 2}), 2);
  EXPECT_EQ(value("Sub(3,x0)", {7}), -4);
  EXPECT_EQ(value("Less:bool(x0,2)", {1}), 1);
}

TEST(MapCode, KeepsValuesThatAreUsedAgain) {
  EXPECT_EQ(value("%0=Sub(x0,x1);Mul(%0,%0)", {7, 2}), 25);
  EXPECT_EQ(value("%0=Sub(x0,x1);Add(Mul(%0,x0),%0)", {7, 2}), 40);
  EXPECT_EQ(value("%0=Add(x0,1);%1=Mul(%0,2);Sub(Mul(%1,%0),Add(%1,%0))", {2}), 9);
}

TEST(MapCode, ChoosesByCondition) {
  EXPECT_EQ(value("Where:f32(Less:bool(x0,x1),x0,Neg(x1))", {1, 2}), 1);
  EXPECT_EQ(value("Where:f32(Less:bool(x0,x1),x0,Neg(x1))", {3, 2}), -2);
  EXPECT_EQ(value("Where:f32(Less:bool(x0,x1),5,6)", {3, 2}), 6);
}

TEST(MapCode, SquaresByAProduct) {
  const Translation result = translation("Pow(x0,2)");
  ASSERT_TRUE(result.program);
  EXPECT_EQ(result.program->codes[1].fn, static_cast<uint8_t>(Fn::kMul));
  EXPECT_EQ(value("Pow(x0,2)", {-3}), 9);
  EXPECT_EQ(value("Pow(2,x0)", {3}), 8);
}

TEST(MapCode, SaysWhatDoesNotFit) {
  EXPECT_STREQ(translation("Add(x0,x1)", DType::kF64).why, "values that fp32 does not hold");
  EXPECT_STREQ(translation("Add(x0,Cast:i64(x0))").why, "values that fp32 does not hold");
  EXPECT_STREQ(translation("Add(Add(Add(Add(x0,x1),Add(x2,x3)),Add(x4,x5)),Add(Add(x6,x7),x8))").why,
               "more than 8 inputs");
  EXPECT_STREQ(translation("%0=Add(x0,1);%1=Add(x0,2);%2=Add(x0,3);%3=Add(x0,4);%4=Add(x0,5);"
                           "Add(Add(Add(%0,%1),Add(%2,%3)),Add(Mul(%4,%0),Add(%1,Add(%2,%3))))")
                   .why,
               "more than 4 values at once");
}

TEST(MapCode, ReadsIntegersThatBecomeFloats) {
  EXPECT_TRUE(translation("Sub(1,Div(Cast(x0),Cast(x1)))", DType::kI64).program);
  EXPECT_TRUE(translation("Cast:bool(x0)", DType::kI32).program);
  EXPECT_STREQ(translation("Equal:bool(x0,32)", DType::kI64).why, "values that fp32 does not hold");
  EXPECT_STREQ(translation("Cast:bf16(x0)", DType::kI64).why, "values that fp32 does not hold");
}

}  // namespace
}  // namespace plica::cuda
