#include "ops/gather_nd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable gather_nd_cases() {
  using ops::GatherNd;
  const auto indices = [](Shape shape, int64_t limit, Layout layout = Layout::kDense) {
    return OperandSpec{std::move(shape), layout, Fill::kIndices, DType::kI64, limit};
  };
  return {"GatherNd",
          {
              {"tiny", GatherNd{}, {{{1}}, indices({1, 1}, 1)}, kSizes},
              {"elements", GatherNd{}, {{{3, 4}}, indices({5, 2}, 3)}, kSizes},
              {"rows", GatherNd{}, {{{3, 4}}, indices({2, 3, 1}, 3)}, kSizes},
              {"in batches", GatherNd{1}, {{{2, 3, 4}}, indices({2, 5, 1}, 3)}, kSizes},
              {"whole", GatherNd{}, {{{3, 4}}, indices({2, 0}, 3)}},
              {"strided", GatherNd{}, {{{3, 4}, Layout::kTransposed}, indices({5, 1}, 3, Layout::kTransposed)}},
              {"none", GatherNd{}, {{{3, 4}}, indices({0, 1}, 3)}},
              {"production", GatherNd{}, {{{257, 640}}, indices({100, 1}, 257)}},
          }};
}

namespace {

using ops::GatherNd;
using testing::ElementsAre;

TEST(GatherNd, AddressesLeadingAxes) {
  const Tensor x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(evaluated("GatherNd", GatherNd{}, {x, i64({2, 3}, {0, 0, 1, 1, -1, 0})}), ElementsAre(1, 6));
  EXPECT_THAT(evaluated("GatherNd", GatherNd{}, {x, i64({1, 1}, {1})}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(evaluated("GatherNd", GatherNd{.batch_dims = 1}, {x, i64({2, 1}, {1, 0})}), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(refused("GatherNd", GatherNd{}, {x, i64({1, 1}, {2})}),
            "invalid input: GatherNd: index 2, wanted one in [-2, 2)");
}

}  // namespace

}  // namespace plica
