#include "ops/map.h"

#include <gtest/gtest.h>

#include "tests/ops_cpu/kernel_case.h"

namespace plica {
namespace {

void expect_right(const char* text, std::vector<std::optional<CaseOperand>> in) {
  auto program = ops::Program::from_text(text);
  ASSERT_TRUE(program) << program.error().what();
  SCOPED_TRACE(text);
  expect_kernels_agree({"Map", ops::Map{*program}, std::move(in), "blocks"});
}

TEST(MapKernels, KnowTheFunctions) {
  const CaseOperand x{{3, 700}}, y{{3, 700}}, positive{{3, 700}, {}, DType::kF32, false, 0.01f, 3};
  for (const char* text :
       {"Abs(x0)", "Neg(x0)", "Relu(x0)", "Exp(x0)", "Erf(x0)", "Sin(x0)", "Cos(x0)", "Tanh(x0)", "Sigmoid(x0)",
        "Silu(x0)", "Gelu(x0)", "GeluTanh(x0)", "Floor(x0)", "Ceil(x0)", "Round(x0)", "Sign(x0)"})
    expect_right(text, {x});
  for (const char* text : {"Sqrt(x0)", "Log(x0)", "Pow(x0,2)", "Pow(x0,0.7)"}) expect_right(text, {positive});
  for (const char* text : {"Add(x0,x1)", "Sub(x0,x1)", "Mul(x0,x1)", "Max(x0,x1)", "Min(x0,x1)", "Equal:bool(x0,x1)",
                           "Less:bool(x0,x1)", "LessOrEqual:bool(x0,x1)"})
    expect_right(text, {x, y});
  expect_right("Div(x0,x1)", {x, positive});
  expect_right("Mul(Sigmoid(Add(x0,x1)),2)", {x, y});
}

TEST(MapKernels, BroadcastInputs) {
  const CaseOperand full{{3, 5, 130}};
  for (const CaseOperand& other :
       {CaseOperand{{130}}, CaseOperand{{5, 1}}, CaseOperand{{3, 1, 130}}, CaseOperand{{3, 1, 1}}, CaseOperand{{}},
        CaseOperand{{5, 130, 3}, {2, 0, 1}}, CaseOperand{{3, 130, 5}, {0, 2, 1}}})
    expect_right("Add(Mul(x0,x1),1)", {full, other});
  expect_right("Add(x0,x1)", {{{{70, 1}}}, {{{1, 3}}}});
  expect_right("Add(x0,x1)", {{{{0, 3}}}, {{{1, 3}}}});
  expect_right("Add(x0,x1)", {CaseOperand{Shape{}}, CaseOperand{Shape{}}});
  expect_right("Mul(x0,x1)", {{{{300, 2000}}}, {{{300, 1}}}});
}

TEST(MapKernels, KnowTruth) {
  const CaseOperand mask{{5, 1, 70}, {}, DType::kBool, false, 0, 0.5f}, x{{5, 6, 70}},
      other{{6, 70}, {}, DType::kBool, false, 0, 0.5f};
  expect_right("Where(x0,x1,-1)", {mask, x});
  expect_right("Not:bool(x0)", {mask});
  expect_right("And:bool(x0,x1)", {mask, other});
  expect_right("Or:bool(x0,x1)", {mask, other});
  expect_right("Xor:bool(x0,x1)", {mask, other});
  expect_right("Cast:bool(x0)", {x});
  expect_right("Cast(x0)", {mask});
}

}  // namespace
}  // namespace plica
