#include "runtime/exec/kernel_choice.h"

#include <gmock/gmock.h>

#include "runtime/core/shape.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* wants_dense(const void*, const Case& c) {
  for (const Operand& operand : c.in)
    if (operand.type != nullptr && !is_dense(*operand.type)) return "an operand is strided";
  return nullptr;
}
const char* wants_dense_first(const void*, const Case& c) { return is_dense(*c.in[0].type) ? nullptr : "x is strided"; }
const char* wants_dense_result(const void*, const Case& c) {
  return is_dense(*c.out[0].type) ? nullptr : "y is strided";
}
const char* never(const void*, const Case&) { return "it is Monday"; }

const TensorType kDense{DType::kF32, {4, 6}, {}};
const TensorType kStrided{DType::kF32, {4, 6}, {1, 4}};

class KernelChoiceTest : public testing::Test {
 protected:
  static constexpr std::string_view kInputs[] = {"x", "y"};
  static constexpr OpDef kOp{.name = "Blend", .inputs = kInputs, .attrs = nullptr, .infer = nullptr};

  Result<KernelChoice> choose(Kernels kernels, const TensorType& x, const TensorType& y, Strides preferred = {}) {
    return choose_kernel(
        {&kOp, nullptr, kernels, {{&x, nullptr, 64}, {&y, nullptr, 64}}, {kDense}, {preferred}, {64}, &options});
  }

  PlanOptions options;
};

TEST_F(KernelChoiceTest, TakesTheFirstThatDoesNotDecline) {
  const Kernel kernels[] = {{.name = "a", .declines = never}, {.name = "b"}, {.name = "ref"}};
  const auto choice = choose(kernels, kDense, kStrided);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernel->name, "b");
  EXPECT_THAT(choice->to_copy, IsEmpty());
  ASSERT_EQ(choice->declined.size(), 1u);
  EXPECT_EQ(choice->declined[0].kernel, "a");
  EXPECT_EQ(choice->declined[0].why, "it is Monday");
}

TEST_F(KernelChoiceTest, CopiesAsFewOperandsAsItMust) {
  const Kernel first[] = {{.name = "a", .declines = wants_dense_first}, {.name = "ref"}};
  EXPECT_THAT(choose(first, kStrided, kStrided)->to_copy, ElementsAre(0u));
  const Kernel all[] = {{.name = "a", .declines = wants_dense}, {.name = "ref"}};
  EXPECT_THAT(choose(all, kStrided, kStrided)->to_copy, ElementsAre(0u, 1u));
  EXPECT_THAT(choose(all, kDense, kStrided)->to_copy, ElementsAre(1u));
  EXPECT_EQ(choose(all, kStrided, kStrided)->declined.size(), 1u);
}

TEST_F(KernelChoiceTest, RefIsLast) {
  const Kernel kernels[] = {{.name = "a", .declines = never}, {.name = "ref"}};
  const auto choice = choose(kernels, kStrided, kDense);
  EXPECT_EQ(choice->kernel->name, "ref");
  EXPECT_THAT(choice->to_copy, IsEmpty());
}

TEST_F(KernelChoiceTest, ReferencePlansHoldOnlyRef) {
  options.reference = true;
  const Kernel kernels[] = {{.name = "a"}, {.name = "ref"}};
  EXPECT_EQ(choose(kernels, kDense, kDense)->kernel->name, "ref");
}

TEST_F(KernelChoiceTest, AsksTheChosenKernelForThePreferredLayout) {
  const Kernel able[] = {{.name = "a"}, {.name = "ref"}};
  EXPECT_TRUE(choose(able, kDense, kDense, {1, 4})->takes_preferred);
  EXPECT_FALSE(choose(able, kDense, kDense)->takes_preferred);
  const Kernel unable[] = {{.name = "a", .declines = wants_dense_result}, {.name = "b"}, {.name = "ref"}};
  const auto choice = choose(unable, kDense, kDense, {1, 4});
  EXPECT_EQ(choice->kernel->name, "a");
  EXPECT_FALSE(choice->takes_preferred);
}

TEST_F(KernelChoiceTest, SaysWhyNoneIsLeft) {
  const Kernel kernels[] = {{.name = "a", .declines = never}, {.name = "ref", .declines = never}};
  const auto choice = choose(kernels, kDense, kDense);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::kUnsupported);
  EXPECT_THAT(choice.error().what(), HasSubstr("Blend: every kernel declines\n  a: it is Monday\n  ref: it is Monday"));
  EXPECT_THAT(choose({}, kDense, kDense).error().what(), HasSubstr("Blend has no kernel on this device"));
}

TEST_F(KernelChoiceTest, TakesTheForcedKernelAlone) {
  const Kernel kernels[] = {{.name = "a"}, {.name = "b", .declines = wants_dense_first}, {.name = "ref"}};
  options.kernels = {{&kOp, &kernels[0]}, {&kOp, &kernels[1]}};
  const auto choice = choose(kernels, kStrided, kDense);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kernel->name, "b");
  EXPECT_THAT(choice->to_copy, ElementsAre(0u));
  ASSERT_EQ(choice->declined.size(), 2u);
  EXPECT_EQ(choice->declined[0].kernel, "a");
  EXPECT_EQ(choice->declined[0].why, "b is forced");
  options.reference = true;
  EXPECT_EQ(choose(kernels, kDense, kDense)->kernel->name, "ref");
}

TEST_F(KernelChoiceTest, SaysWhyTheForcedKernelDeclines) {
  const Kernel kernels[] = {{.name = "a", .declines = never}, {.name = "ref"}};
  options.kernels = {{&kOp, &kernels[0]}};
  const auto choice = choose(kernels, kDense, kDense);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code(), Code::kUnsupported);
  EXPECT_THAT(choice.error().what(), HasSubstr("Blend: the forced kernel 'a' declines: it is Monday"));
}

TEST(ForcedKernels, AreFoundByOperatorAndName) {
  const auto forced = forced_kernels({"Attention=ref", "Softmax=ref"}, Device::kCpu);
  ASSERT_TRUE(forced);
  EXPECT_EQ((*forced)[0].op->name, "Attention");
  EXPECT_EQ((*forced)[0].kernel->name, "ref");
  EXPECT_EQ((*forced)[1].op->name, "Softmax");
}

TEST(ForcedKernels, ThatDoNotExistAreRefused) {
  const auto refusal = [](const char* text) { return forced_kernels({text}, Device::kCpu).error().what(); };
  EXPECT_THAT(refusal("Attention"), HasSubstr("forced kernel 'Attention': found no '=', wanted OPERATOR=KERNEL"));
  EXPECT_THAT(refusal("Attention=mma"),
              HasSubstr("forced kernel 'Attention=mma': found kernel 'mma', wanted one of 'flash', 'ref'"));
  EXPECT_THAT(refusal("Attend=ref"),
              HasSubstr("forced kernel 'Attend=ref': found operator 'Attend', wanted one that `plica explain` shows"));
  EXPECT_THAT(refusal("Reshape=ref"), HasSubstr("wanted an operator that has kernels on this device"));
}

}  // namespace
}  // namespace plica
