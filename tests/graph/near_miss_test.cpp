#include "graph/near_miss.h"

#include <gmock/gmock.h>

#include "graph/text.h"

namespace plica {
namespace {

bool is_square(Match& m) { return m.shape("x") == Shape{2, 2}; }

constexpr Rule kNorm{"norm", "y = Div(x, Sqrt(Add(v, 1e-05)))", "y = Mul(x, v)"};
constexpr Rule kSquare{"square", "d = Sub(x, m)\ny = Mul(d, d)", "y = Abs(x)"};
constexpr Rule kMean{"mean", "y = Neg(Reduce(x) {kind=mean, axes=[-1]})", "y = Abs(x)"};
constexpr Rule kShaped{"shaped", "y = Neg(Abs(x))", "y = Neg(x)", is_square};

// The reason that the rule gives where it has to do with `node`; "" where there is none. Nodes are named as their values.
std::string why(const Rule& rule, const std::string& text, const std::string& node, size_t num_matched) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << to_string(graph.error());
  const auto misses = near_misses(*graph, {&rule, 1}, node);
  EXPECT_TRUE(misses) << to_string(misses.error());
  EXPECT_EQ(to_text(*graph), to_text(*parse_graph(text)));
  if (misses->empty()) return "";
  EXPECT_EQ((*misses)[0].num_matched, num_matched);
  return (*misses)[0].why;
}

TEST(NearMiss, NamesWhatStandsInTheWay) {
  const std::string head = "input x: f32 2x3\ninput v: f32 2x3\n";
  EXPECT_EQ(why(kNorm, head + "a = Add(v, 0.1)\ns = Sqrt(a)\ny = Div(x, s)\noutput y\n", "y", 3),
            "found 0.1, wanted the number 1e-05");
  EXPECT_EQ(why(kNorm, head + "a = Mul(v, 1e-05)\ns = Sqrt(a)\ny = Div(x, s)\noutput y\n", "y", 2),
            "found Mul 'a', wanted Add");
  EXPECT_EQ(why(kNorm, head + "s = Sqrt(v)\ny = Div(x, s)\noutput y\n", "s", 2), "found input 'v', wanted Add");
}

TEST(NearMiss, KnowsTheNodeThatIsInTheWay) {
  const std::string text = "input x: f32 2x3\na = Mul(x, 1e-05)\ns = Sqrt(a)\ny = Div(x, s)\noutput y\n";
  EXPECT_EQ(why(kNorm, text, "a", 2), "found Mul 'a', wanted Add");
  EXPECT_EQ(why(kNorm, text, "nobody", 0), "");
}

TEST(NearMiss, SaysWhichAttributeDiffers) {
  EXPECT_EQ(why(kMean, "input x: f32 2x3\nm = Reduce(x) {kind=mean, axes=[0]}\ny = Neg(m)\noutput y\n", "m", 0), "");
  constexpr Rule kDeep{"deep", "y = Neg(Abs(Reduce(x) {kind=mean, axes=[-1]}))", "y = Abs(x)"};
  EXPECT_EQ(
      why(kDeep, "input x: f32 2x3\nm = Reduce(x) {kind=mean, axes=[0]}\na = Abs(m)\ny = Neg(a)\noutput y\n", "m", 2),
      "found Reduce 'm' with axes=[0], wanted [-1]");
}

TEST(NearMiss, SaysThatAnInnerValueIsUsedOutside) {
  const std::string text = "input x: f32 2x3\ninput m: f32 2x3\nd = Sub(x, m)\ny = Mul(d, d)\noutput y\noutput d\n";
  EXPECT_EQ(why(kSquare, text, "y", 2), "Sub 'd' is used outside as well, or is an output");
}

TEST(NearMiss, ShowsTheTypesThatAConditionRefuses) {
  EXPECT_EQ(why(kShaped, "input x: f32 2x3\na = Abs(x)\ny = Neg(a)\noutput y\n", "a", 2),
            "its condition does not hold for x = f32 2x3, y = f32 2x3");
  EXPECT_THAT(why(kShaped, "input x: f32 2x2\na = Abs(x)\ny = Neg(a)\noutput y\n", "a", 2),
              testing::HasSubstr("it matches"));
}

}  // namespace
}  // namespace plica
