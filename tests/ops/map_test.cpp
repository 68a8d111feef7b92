#include "ops/map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "ops/pointwise.h"
#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
namespace {

ops::Map program(std::string_view text) {
  Result<ops::Program> parsed = ops::Program::from_text(text);
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  return {parsed ? *std::move(parsed) : ops::Program{}};
}

// Every float function of one or two operands, in a program of its own.
std::vector<OpCase> float_functions() {
  std::vector<OpCase> cases;
  for (const OpDef& op : pointwise_ops()) {
    const std::string name(op.name);
    if (name.starts_with("Bit") || name.starts_with("Shift") || name == "Cast" || name == "Where") continue;
    if (name == "And" || name == "Or" || name == "Xor" || name == "Not") continue;
    const ops::FnDef& def = ops::def_of(fn_of(op));
    const std::string text =
        name + (def.result == ops::FnResult::kBool ? ":bool" : "") + (def.num_inputs == 1 ? "(x0)" : "(x0,x1)");
    OpCase c{name, program(text), {{{3, 37}}}};
    if (def.num_inputs == 2) c.in.push_back({{37}});
    if (name == "Pow" || name == "Log" || name == "Sqrt" || name == "Acosh") c.in[0].fill = Fill::kPositive;
    cases.push_back(c);
    for (OperandSpec& x : c.in) x.fill = Fill::kSpecial;
    c.name.append(" of special values");
    cases.push_back(c);
  }
  return cases;
}

}  // namespace

OpTable map_cases() {
  std::vector<OpCase> cases = float_functions();
  const std::vector<OpCase> others = {
      {"tiny", program("Add(x0,x1)"), {{{1}}, {{}}}},
      {"chain", program("Mul(Sigmoid(Add(x0,x1)),2)"), {{{3, 5, 7}}, {{7}}}},
      {"used twice", program("%0=Sub(x0,x1);Mul(%0,%0)"), {{{5, 9}}, {{5, 1}}}},
      {"select", program("Where:f32(Less:bool(x0,x1),x0,-inf)"), {{{5, 9}}, {{9}}}},
      {"halves", program("Gelu:f16(Add:f16(x0,x1))"), {{{5, 9}}, {{9}}}, {DType::kF16}},
      {"halves by columns",
       program("Gelu:f16(Add:f16(x0,x1))"),
       {{{50, 60}, Layout::kTransposed}, {{60}}},
       {DType::kF16}},
      {"upper halves", program("Silu:bf16(Mul:bf16(x0,x1))"), {{{5, 9}}, {{9}}}, {DType::kBF16}},
      {"doubles", program("Exp:f64(Neg:f64(x0))"), {{{5, 9}}}, {DType::kF64}},
      {"integers", program("Div:i64(Mul:i64(x0,x1),3)"), {{{5, 9}}, {{9}}}, {DType::kI64}},
      {"small integers", program("Add:i8(Mul:i8(x0,x1),100)"), {{{5, 9}}, {{9}}}, {DType::kI8}},
      {"bool", program("And:bool(Not:bool(x0),x1)"), {{{5, 9}}, {{5, 1}}}, {DType::kBool}},
      {"narrowed", program("Cast:bf16(x0)"), {{{7, 264}}}},
      {"narrowed, odd", program("Cast:f16(x0)"), {{{7, 33}, Layout::kTransposed}}},
      {"widened", program("Cast(x0)"), {{{2, 3, 7, 264}, Layout::kHeads}}, {DType::kBF16, DType::kF16}},
      {"integers as floats",
       program("%0=Cast(x0);Where:f32(Cast:bool(x1),Sub(%0,2),Cast(x1))"),
       {{.shape = {5, 36}, .dtype = DType::kI64}, {.shape = {36}, .dtype = DType::kI32}}},
      {"cast to i64", program("Cast:i64(Mul(x0,100))"), {{{5, 9}}}},
      {"truth of special values", program("Cast:bool(x0)"), {{.shape = {5, 9}, .fill = Fill::kSpecial}}},
      {"cast from bool", program("Mul:f32(Cast:f32(x0),-10000)"), {{.shape = {5, 9}, .dtype = DType::kBool}}},
      {"mask from ids", program("Where:f32(Equal:bool(x0,1),-inf,0)"), {{.shape = {2, 33}, .dtype = DType::kI64}}},
      {"strided", program("Add(x0,x1)"), {{{5, 9}, Layout::kTransposed}, {{5, 9}, Layout::kGapped}}},
      {"backwards and repeated", program("Sub(x0,x1)"), {{{5, 9}, Layout::kReversed}, {{5, 9}, Layout::kRepeated}}},
      {"broadcast both ways", program("Mul(x0,x1)"), {{{4, 1, 9}}, {{3, 1}}}},
      {"empty", program("Add(x0,x1)"), {{{0, 5}}, {{5}}}},
      {"bias and gelu", program("Gelu(Add(x0,x1))"), {{{257, 640}}, {.shape = {640}, .constant = true}}},
      {"token dropout",
       program("Mul(Div(Mul(Where(x1,0,x0),0.88),x2),x3)"),
       {{{3, 50, 40}},
        {.shape = {3, 50, 1}, .dtype = DType::kBool},
        {.shape = {3, 1, 1}, .fill = Fill::kPositive},
        {{3, 50, 1}}}},
      {"token dropout by element",
       program("Mul(Div(Mul(Where(x1,0,x0),0.88),x2),x3)"),
       {{{7, 33}}, {.shape = {7, 33}, .dtype = DType::kBool}, {.shape = {33}, .fill = Fill::kPositive}, {{7, 33}}}},
      {"gate", program("Mul(Sigmoid(x0),x1)"), {{{1, 65, 65, 32}}, {{1, 65, 65, 32}, Layout::kHeads}}},
  };
  cases.insert(cases.end(), others.begin(), others.end());
  return {"Map", std::move(cases), false};
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Map, ProgramsTravelAsText) {
  for (const char* text :
       {"Mul(Sigmoid(Add(x0,x1)),2)", "%0=Sub(x0,x1);Mul(%0,%0)", "Where:f32(Less:bool(x0,x1),x0,-inf)", "Cast:i64(x0)",
        "%0=Exp(x0);%1=Add(%0,x1);Div(%1,Add(%0,%1))", "Add:i64(x1,-3)", "Pow(x0,1e-05)"}) {
    const ops::Program parsed = program(text).program;
    EXPECT_EQ(parsed.to_text(), text);
    EXPECT_EQ(*ops::Program::from_text(parsed.to_text()), parsed);
  }
  EXPECT_EQ(program("Add(x0,x1)").program, ops::program_of(ops::Fn::kAdd, DType::kF32));
  EXPECT_EQ(program("Relu(x0)").program, ops::program_of(ops::Fn::kRelu, DType::kF32));
}

TEST(Map, SaysWhereATextIsWrong) {
  const auto error = [](std::string_view text) { return to_string(ops::Program::from_text(text).error()); };
  EXPECT_THAT(error("Add(x0"), HasSubstr("at character 6 found '', wanted ','"));
  EXPECT_THAT(error("Foo(x0)"), HasSubstr("wanted a function in front"));
  EXPECT_THAT(error("Add:q(x0,1)"), HasSubstr("wanted a dtype in front"));
  EXPECT_THAT(error("Mul(%0,x0)"), HasSubstr("wanted a register named before"));
  EXPECT_THAT(error("x0"), HasSubstr("wanted a call of a function"));
  EXPECT_THAT(error("Relu(x0)x"), HasSubstr("wanted the end"));
}

TEST(Map, InfersTheBroadcastShapeAndChecksDtypes) {
  const TensorType x{DType::kF32, {4, 1, 3}, {}}, y{DType::kF32, {2, 1}, {}}, ids{DType::kI64, {3}, {}};
  EXPECT_EQ(inferred("Map", program("Less:bool(x0,x1)"), {x, y}), "bool 4x2x3");
  EXPECT_THAT(inferred("Map", program("Add(x0,x1)"), {x, ids}), HasSubstr("has operands of another dtype"));
  EXPECT_THAT(inferred("Map", program("Add(x0,x1)"), {x}),
              HasSubstr("1 inputs for the program \"Add(x0,x1)\", wanted 2"));
  ops::Map broken = program("Add(x0,x1)");
  broken.program.instructions[0].b = 2;
  EXPECT_THAT(inferred("Map", broken, {x, y}), HasSubstr("reads a register that is not there"));
}

TEST(Map, RoundsAfterEachInstruction) {
  // 1 + 2^-12 is no f16, so the difference vanishes; in f32 it stays.
  const Tensor half = tensor_of(DType::kF16, {1}, {0x1p-12}), single = f32({1}, {0x1p-12});
  EXPECT_THAT(evaluated("Map", program("Sub:f16(Add:f16(x0,1),1)"), {half}), ElementsAre(0));
  EXPECT_THAT(evaluated("Map", program("Sub(Add(x0,1),1)"), {single}), ElementsAre(0x1p-12));
}

TEST(Map, CountsGelus) {
  StructureCounts counts;
  const ops::Map twice = program("Add(Gelu(x0),GeluTanh(x1))");
  map_op.structures(&twice, counts);
  EXPECT_THAT(counts, ElementsAre(testing::Pair("gelu", 2)));
}

}  // namespace

}  // namespace plica
