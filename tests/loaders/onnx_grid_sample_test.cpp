#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

// A row of four, 0 to 3, read at x.
std::vector<double> read(const std::vector<float>& x, const std::string& mode, const std::string& padding) {
  std::vector<float> grid;
  for (const float at : x) grid.insert(grid.end(), {at, 0});
  return first(OneOp("GridSample", 20)
                   .counted({1, 1, 1, 4})
                   .input<float>({1, 1, static_cast<int64_t>(x.size()), 2}, grid)
                   .attr("mode", mode)
                   .attr("padding_mode", padding))
      .values;
}

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-5), wanted); }

TEST(OnnxGridSample, Modes) {
  EXPECT_THAT(read({-0.75f, 0, 0.5f}, "linear", "zeros"), near({0, 1.5, 2.5}));
  EXPECT_THAT(read({-0.7f, 0.2f}, "nearest", "zeros"), near({0, 2}));
  EXPECT_THAT(read({0}, "cubic", "border"), near({1.5}));
}

TEST(OnnxGridSample, Padding) {
  EXPECT_THAT(read({1.0f, 1.5f}, "linear", "zeros"), near({1.5, 0}));
  EXPECT_THAT(read({1.0f, 9.0f}, "linear", "border"), near({3, 3}));
  EXPECT_THAT(read({1.25f, 1.75f}, "linear", "reflection"), near({3, 2}));
}

TEST(OnnxGridSample, RefusesAGridOfAnotherRank) {
  EXPECT_THAT(error_of(OneOp("GridSample", 20).counted({1, 1, 1, 4}).counted({1, 1, 2})), HasSubstr("the grid 1x1x2"));
}

}  // namespace
}  // namespace plica::onnx
