#include "models/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/core/dtype.h"

namespace plica {
namespace {

using testing::ElementsAre;

std::vector<float> pooled(const TensorView& output, const ResidueRows& rows, Pooling how) {
  std::vector<float> vector(static_cast<size_t>(output.type.shape[2]));
  pool(output, rows, how, vector);
  return vector;
}

TEST(Pooling, TakesResiduesOnly) {
  std::vector<float> data(2 * 4 * 2);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const TensorView output{{DType::kF32, {2, 4, 2}, {}}, data.data()};
  const ResidueRows rows{1, 1, 2};  // rows 10 11 and 12 13
  EXPECT_THAT(pooled(output, rows, Pooling::kMean), ElementsAre(11, 12));
  EXPECT_THAT(pooled(output, rows, Pooling::kSum), ElementsAre(22, 24));
  EXPECT_THAT(pooled(output, rows, Pooling::kMax), ElementsAre(12, 13));
  EXPECT_THAT(pooled(output, rows, Pooling::kCls), ElementsAre(8, 9));
  const TensorView residues = residues_of(output, rows);
  EXPECT_EQ(residues.type.shape, (Shape{2, 2}));
  EXPECT_EQ(static_cast<float*>(residues.data)[3], 13);
}

TEST(Pooling, ReadsHalvesAndStrides) {
  std::vector<F16> data{to_f16(1), to_f16(2), to_f16(3), to_f16(4)};
  const TensorView output{{DType::kF16, {1, 2, 2}, {4, 1, 2}}, data.data()};  // rows 1 3 and 2 4
  EXPECT_THAT(pooled(output, {0, 0, 2}, Pooling::kMean), ElementsAre(1.5f, 3.5f));
}

TEST(Pooling, NamesParseBack) {
  for (const char* name : {"mean", "max", "sum", "cls"}) EXPECT_EQ(name_of(*parse_pooling(name)), name);
  EXPECT_FALSE(parse_pooling("median"));
}

}  // namespace
}  // namespace plica
