#include <gtest/gtest.h>

#include <set>

#include "ops/op.h"
#include "ops/pointwise.h"
#include "ops/transpose.h"
#include "tests/harness/evaluated.h"

namespace plica {
namespace {

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const OpDef* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_NE(op->attrs, nullptr) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_FALSE(op->inputs.empty()) << op->name;
  }
  EXPECT_EQ(find_op("NoSuchOp"), nullptr);
}

TEST(Registry, EveryTableEndsWithAReferenceThatTakesAllCases) {
  for (const OpDef* op : all_ops()) {
    const Kernels table = kernels(*op, Device::kCpu);
    if (is_pointwise(*op) || op->is_view || op->name == "Scores") {
      EXPECT_TRUE(table.empty()) << op->name;
      continue;
    }
    ASSERT_FALSE(table.empty()) << op->name;
    EXPECT_EQ(table.back().name, "ref") << op->name;
    EXPECT_EQ(table.back().declines, nullptr) << op->name;
    EXPECT_EQ(table.back().prepare, nullptr) << op->name;
    std::set<std::string_view> names;
    for (const Kernel& kernel : table) EXPECT_TRUE(names.insert(kernel.name).second) << op->name << " " << kernel.name;
  }
}

TEST(Registry, InferTypesChecksNumberPresenceAndRank) {
  const TensorType x{DType::kF32, {2, 2}, {}};
  const Attrs none(ops::Pointwise{});
  const std::vector<const TensorType*> one = {&x}, absent = {&x, nullptr};
  EXPECT_EQ(infer_types(*find_op("Add"), none, one).error().what(), "Add: 1 inputs, wanted 2");
  EXPECT_EQ(infer_types(*find_op("Add"), none, absent).error().what(),
            "Add: input 'y' is absent, but it is not optional");
  const TensorType deep{DType::kF32, Shape(17, 1), {}};
  EXPECT_EQ(inferred("Relu", ops::Pointwise{}, {deep}),
            "unsupported: Relu: input 'x' is of rank 17, wanted at most 16");
}

}  // namespace
}  // namespace plica
