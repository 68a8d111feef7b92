#include "graph/text.h"

#include <gmock/gmock.h>

namespace plica {
namespace {

using testing::HasSubstr;

TEST(Text, PrintsWhatItParses) {
  const std::string text =
      "input x: f32 2x3\n"
      "input ids: i64 4\n"
      "constant w: f32 4x4\n"
      "constant half: f32 scalar = 0.5\n"
      "constant row: f32 3 = [1,-2.5,1e-05]\n"
      "y = Mul(x, half)\n"
      "z = Add(y, row)\n"
      "t = Transpose(z) {perm=[1,0]}\n"
      "c = Cast(ids) {to=f16}\n"
      "output t\n"
      "output cast = c\n"
      "output w\n";
  auto graph = parse_graph(text);
  ASSERT_TRUE(graph) << to_string(graph.error());
  ASSERT_TRUE(graph->verify());
  std::string printed = to_text(*graph);
  auto again = parse_graph(printed);
  ASSERT_TRUE(again) << printed;
  EXPECT_EQ(to_text(*again), printed);
  EXPECT_THAT(printed, HasSubstr("t = Transpose(z) {perm=[1,0]}\n"));
  EXPECT_THAT(printed, HasSubstr("constant row: f32 3 = [1,-2.5,1e-05]\n"));
  EXPECT_THAT(printed, HasSubstr("output cast = c\n"));
}

TEST(Text, NestsAndTypesNumbers) {
  auto graph = parse_graph("input x: f16 3\ny = Add(Mul(x, 0.5), 1)  # a comment\noutput y\n");
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_EQ(to_text(*graph),
            "input x: f16 3\nconstant %1: f16 scalar = 0.5\n%2 = Mul(x, %1)\nconstant %3: f16 scalar = 1\n"
            "y = Add(%2, %3)\noutput y\n");
}

TEST(Text, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"input x: f32 2y3\n", "line 1"},
      {"input x: f32 2\ny = Nonsense(x)\n", "operator, not 'Nonsense'"},
      {"input x: f32 2\ny = Mul(x, z)\n", "not 'z'"},
      {"input x: f32 2\ny = Cast(x) {two=f32}\n", "not 'two'"},
      {"input x: f32 2\ny = Mul(x x)\n", "line 2"},
      {"output y\n", "not 'y'"},
      {"constant c: f32 2 = [1]\n", "one value an element"},
      {"input x: f32 2\ninput y: f32 3\nz = Add(x, y)\n", "2"},
  };
  for (const auto& [text, wanted] : kCases) {
    auto graph = parse_graph(text);
    ASSERT_FALSE(graph) << text;
    EXPECT_THAT(graph.error().what(), HasSubstr(wanted));
  }
}

}  // namespace
}  // namespace plica
