#include "graph/pattern.h"

#include <gmock/gmock.h>

#include "graph/text.h"

namespace plica {
namespace {

// The graph behind one rule; "" where it did not match.
std::string rewritten(const Rule& rule, const std::string& text, int num_wanted = 1) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << to_string(graph.error());
  auto rules = RuleSet::parse({&rule, 1});
  EXPECT_TRUE(rules) << to_string(rules.error());
  auto num_applied = rules->apply(*graph);
  EXPECT_TRUE(num_applied);
  EXPECT_TRUE(graph->verify());
  if (*num_applied == 0) return "";
  EXPECT_EQ(*num_applied, num_wanted);
  return to_text(*graph);
}

TEST(Pattern, CapturesComputesAndReplaces) {
  const Rule rule{"two_factors", "y = Mul(Mul(x, $a), $b)", "y = Mul(x, $a*$b+1/2)"};
  EXPECT_EQ(rewritten(rule, "input x: f32 3\ny = Mul(2, Mul(3, x))\noutput y\n"),
            "input x: f32 3\nconstant %5: f32 scalar = 6.5\ny = Mul(x, %5)\noutput y\n");
}

TEST(Pattern, TriesAllOrdersOfCommutativeOperands) {
  const Rule rule{"shared", "y = Mul(Add(a, b), a)", "y = Sub(a, b)"};
  for (const char* text : {"Mul(Add(p, q), p)", "Mul(Add(q, p), p)", "Mul(p, Add(p, q))", "Mul(p, Add(q, p))"})
    EXPECT_THAT(rewritten(rule, std::string("input p: f32 3\ninput q: f32 3\ny = ") + text + "\noutput y\n"),
                testing::HasSubstr("y = Sub(p, q)"))
        << text;
  EXPECT_EQ(rewritten(rule, "input p: f32 3\ninput q: f32 3\ny = Mul(Add(p, q), Neg(p))\noutput y\n"), "");
}

TEST(Pattern, BacktracksAcrossOperands) {
  const Rule rule{"deep", "y = Add(Mul(a, b), Mul(Neg(a), c))", "y = Mul(a, Sub(b, c))"};
  EXPECT_THAT(rewritten(rule,
                        "input p: f32 3\ninput q: f32 3\ninput r: f32 3\n"
                        "y = Add(Mul(r, Neg(p)), Mul(q, p))\noutput y\n"),
              testing::HasSubstr("y = Mul(p, "));
}

TEST(Pattern, RefusesWhenAnInnerValueEscapes) {
  const Rule rule{"square", "d = Sub(x, m)\ny = Mul(d, d)", "y = Abs(x)"};
  const std::string head = "input x: f32 3\ninput m: f32 3\nd = Sub(x, m)\ny = Mul(d, d)\n";
  EXPECT_NE(rewritten(rule, head + "output y\n"), "");
  EXPECT_EQ(rewritten(rule, head + "output y\noutput d\n"), "");
  EXPECT_EQ(rewritten(rule, head + "z = Neg(d)\noutput y\noutput z\n"), "");
}

TEST(Pattern, ViewsMayBeUsedOutside) {
  const Rule rule{"neg_transpose", "y = Neg(Transpose(x) {perm=$p})", "y = Transpose(Neg(x)) {perm=$p}"};
  EXPECT_NE(rewritten(rule, "input x: f32 2x3\nt = Transpose(x) {perm=[1,0]}\ny = Neg(t)\noutput y\noutput t\n"), "");
}

TEST(Pattern, NumbersMatchInTheirOwnType) {
  const Rule rule{"root_two", "y = Mul(x, 1.41421356)", "y = Neg(x)"};
  EXPECT_NE(rewritten(rule, "input x: f32 3\ny = Mul(x, 1.4142135)\noutput y\n"), "");
  EXPECT_NE(rewritten(rule, "input x: f16 3\ny = Mul(x, 1.4142135)\noutput y\n"), "");
  EXPECT_NE(
      rewritten(rule, "input x: f32 3\nconstant c: f32 3 = [1.4142135,1.4142135,1.4142135]\ny = Mul(x, c)\noutput y\n"),
      "");
  EXPECT_EQ(rewritten(rule, "input x: f32 3\ny = Mul(x, 1.4143)\noutput y\n"), "");
  EXPECT_EQ(rewritten(rule, "input x: f32 3\nconstant c: f32 3 = [1.4142135,1.4142135,1]\ny = Mul(x, c)\noutput y\n"),
            "");
}

TEST(Pattern, SeveralRootsAndRepeatedCaptures) {
  const Rule rule{"sin_cos", "s = Sin(Mul(x, $f))\nc = Cos(Mul(x, $f))", "s = Sin(x)\nc = Cos(x)"};
  const std::string head = "input x: f32 3\ns = Sin(Mul(x, 2))\n";
  EXPECT_NE(rewritten(rule, head + "c = Cos(Mul(2, x))\noutput s\noutput c\n"), "");
  EXPECT_EQ(rewritten(rule, head + "c = Cos(Mul(x, 3))\noutput s\noutput c\n"), "");
  EXPECT_EQ(rewritten(rule, head + "output s\n"), "");
}

TEST(Pattern, RefusesAReplacementThatWouldReadItself) {
  const Rule rule{"pair", "a = Sin(x)\nb = Sin(Add(x, y))", "a = Cos(x)\nb = Cos(Add(x, y))"};
  EXPECT_EQ(rewritten(rule, "input x: f32 3\na = Sin(x)\nb = Sin(Add(x, a))\noutput a\noutput b\n"), "");
}

TEST(Pattern, RefusesAReplacementOfAnotherType) {
  const Rule rule{"drop", "y = Mul(x, 1)", "y = Abs(x)"};
  EXPECT_EQ(rewritten(rule, "input x: f32 3\nconstant c: f32 2x3 = [1,1,1,1,1,1]\ny = Mul(x, c)\noutput y\n"), "");
}

TEST(Pattern, PredicatesSeeAndSetCaptures) {
  const Rule rule{"swap", "y = Transpose(x) {perm=$p}", "y = Reshape(x) {shape=$s}", [](Match& m) {
                    if (m.list("$p").size() != 2 || m.shape("x")[0] != 1) return false;
                    m.set("$s", Shape{m.shape("x")[1], 1});
                    return true;
                  }};
  EXPECT_NE(rewritten(rule, "input x: f32 1x3\ny = Transpose(x) {perm=[1,0]}\noutput y\n"), "");
  EXPECT_EQ(rewritten(rule, "input x: f32 2x3\ny = Transpose(x) {perm=[1,0]}\noutput y\n"), "");
}

TEST(Pattern, FaultyRulesAreNamed) {
  const Rule kFaulty[] = {{"a", "y = Nonsense(x)", "y = Abs(x)"},
                          {"b", "y = Cast(x) {too=f32}", "y = Abs(x)"},
                          {"c", "y = Abs(x", "y = Abs(x)"},
                          {"d", "y = Abs(x)", "z = Abs(x)"},
                          {"e", "y = Abs(x)", "y = Mul(x, $a)"}};
  for (const Rule& rule : kFaulty) {
    auto rules = RuleSet::parse({&rule, 1});
    ASSERT_FALSE(rules) << rule.name;
    EXPECT_THAT(rules.error().what(), testing::HasSubstr("rule '" + std::string(rule.name) + "'"));
  }
}

}  // namespace
}  // namespace plica
