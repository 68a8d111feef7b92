#include "runtime/exec/step_runs.h"

#include <gmock/gmock.h>

#include "ops/layer_norm.h"
#include "ops/softmax.h"
#include "ops/trilu.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool knows_softmax(const RunStep& step) { return step.op == &softmax_op; }
size_t takes_two_or_more(std::span<const RunStep> steps) { return steps.size() < 2 ? 0 : steps.size(); }
size_t takes_pairs(std::span<const RunStep> steps) { return steps.size() < 2 ? 0 : 2; }
size_t takes_none(std::span<const RunStep>) { return 0; }

constexpr Kernel kAlone{.name = "alone"};

// A draft by hand: buffers are named by letters; capitals are the graph's outputs.
class StepRunsTest : public testing::Test {
 protected:
  void add(const OpDef& op, const std::string& name, std::string_view reads, char writes) {
    Step step;
    step.op = &op;
    step.attrs = ops::Softmax{};
    step.kernel = &kAlone;
    step.name = name;
    for (char buffer : reads) step.in.push_back(place(buffer));
    step.out.push_back(place(writes));
    draft_.steps.push_back(std::move(step));
  }
  void softmax(const std::string& name, std::string_view reads, char writes) { add(softmax_op, name, reads, writes); }
  void other(const std::string& name, std::string_view reads, char writes) { add(trilu_op, name, reads, writes); }

  Place place(char buffer) {
    const auto index = static_cast<size_t>(buffer - 'A');
    const size_t known = draft_.buffers.size();
    if (known <= index) draft_.buffers.resize(index + 1);
    for (size_t i = known; i <= index; ++i)
      if (i < 26) draft_.buffers[i].kind = Place::Kind::kOutput;
    return {Place::Kind::kArena, static_cast<int>(index), 0, nullptr, {DType::kF32, {16}, {}}, nullptr};
  }

  std::string joined(size_t (*takes)(std::span<const RunStep>) = takes_two_or_more, bool reads_inputs = false) {
    const RunKernel kernel{.name = "chain", .knows = knows_softmax, .reads_inputs = reads_inputs, .takes = takes};
    options_.run_kernels = {&kernel, 1};
    auto runs = join_steps(draft_, options_, constants_);
    EXPECT_TRUE(runs) << to_string(runs.error());
    std::string text;
    auto run = runs->begin();
    for (size_t i = 0; i < draft_.steps.size(); ++i) {
      const bool is_first = run != runs->end() && run->first == i;
      text.append(i == 0 ? "" : " ").append(is_first ? "[" : "").append(draft_.steps[i].name);
      if (run == runs->end() || run->last() != i) continue;
      text.append("]");
      EXPECT_EQ(run->kernel, &kernel);
      ++run;
    }
    return text;
  }

  Draft draft_;
  PlanOptions options_;
  ConstantStore constants_;
};

TEST_F(StepRunsTest, WhatNeedsNothingOfARunIsMovedAheadOfIt) {
  other("first", "a", 'b');
  softmax("s", "b", 'c');
  other("mask", "d", 'e');
  other("mask2", "e", 'f');
  softmax("t", "cf", 'g');
  other("last", "h", 'i');
  EXPECT_EQ(joined(), "first mask mask2 [s t] last");
}

TEST_F(StepRunsTest, WhatReadsOrWritesMemoryOfARunEndsIt) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  other("reads", "c", 'd');
  softmax("u", "c", 'e');
  softmax("v", "e", 'f');
  other("writes what is read", "d", 'e');
  softmax("w", "f", 'g');
  other("writes what is written", "d", 'g');
  softmax("x", "f", 'h');
  softmax("y", "h", 'i');
  EXPECT_EQ(joined(), "[s t] reads [u v] writes what is read w writes what is written [x y]");
}

TEST_F(StepRunsTest, WhatIsLargeStaysWhereItIs) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  other("large", "d", 'e');
  softmax("u", "c", 'f');
  softmax("v", "f", 'g');
  draft_.steps[2].out[0].type.shape = {1 << 21};
  EXPECT_EQ(joined(), "[s t] large [u v]");
}

TEST_F(StepRunsTest, NothingMovesWhereNoRunComesOfIt) {
  softmax("s", "a", 'b');
  other("mask", "c", 'd');
  softmax("t", "b", 'e');
  EXPECT_EQ(joined(takes_none), "s mask t");
}

TEST_F(StepRunsTest, OnlyWhatStandsAmongTheStepsOfARunMoves) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  other("between", "i", 'j');
  softmax("u", "c", 'd');
  other("among", "k", 'l');
  softmax("v", "d", 'e');
  other("behind", "m", 'n');
  softmax("w", "e", 'f');
  EXPECT_EQ(joined(takes_pairs), "[s t] between among [u v] behind w");
}

TEST_F(StepRunsTest, StepsOnMemoryOfTheCallerAreOfNoRun) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  softmax("out", "c", 'A');
  softmax("u", "c", 'd');
  EXPECT_EQ(joined(), "[s t] out u");
}

// As a residual stream stands in an output's memory: all steps on it but the last get memory of their own.
TEST_F(StepRunsTest, WhatStandsInAnOutputsMemoryUntilItIsWrittenMayJoin) {
  other("first", "a", 'A');
  softmax("s", "A", 'b');
  softmax("t", "Ab", 'A');
  softmax("last", "A", 'A');
  other("reads", "A", 'c');
  draft_.buffers[0].bytes = 64;
  const size_t num_buffers = draft_.buffers.size();
  EXPECT_EQ(joined(takes_none), "first s t last reads");
  EXPECT_EQ(draft_.buffers.size(), num_buffers);
  EXPECT_EQ(joined(), "first [s t] last reads");
  ASSERT_EQ(draft_.buffers.size(), num_buffers + 1);
  EXPECT_EQ(draft_.buffers.back().kind, Place::Kind::kArena);
  EXPECT_EQ(draft_.buffers.back().bytes, 64u);
  const auto own = static_cast<int>(num_buffers);
  EXPECT_EQ(draft_.steps[0].out[0].index, own);
  EXPECT_EQ(draft_.steps[1].in[0].index, own);
  EXPECT_EQ(draft_.steps[2].in[0].index, own);
  EXPECT_EQ(draft_.steps[2].out[0].index, own);
  EXPECT_EQ(draft_.steps[3].in[0].index, own);
  EXPECT_EQ(draft_.steps[3].out[0].index, 0);
  EXPECT_EQ(draft_.steps[4].in[0].index, 0);
}

TEST_F(StepRunsTest, AnOutputThatIsWrittenInPartsIsTheCallers) {
  softmax("s", "A", 'b');
  softmax("t", "b", 'A');
  softmax("part", "A", 'A');
  draft_.buffers[0].bytes = 128;
  EXPECT_EQ(joined(), "s t part");
}

TEST_F(StepRunsTest, StepsThatMayFaultAreOfNoRun) {
  softmax("s", "a", 'b');
  softmax("t", "bd", 'c');
  draft_.steps[1].in[1].type.dtype = DType::kI64;
  EXPECT_EQ(joined(), "s t");
  EXPECT_EQ(joined(takes_two_or_more, true), "[s t]");
}

TEST_F(StepRunsTest, StepsWhoseKernelIsForcedAreOfNoRun) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  options_.kernels = {{&layer_norm_op, &kAlone}};
  EXPECT_EQ(joined(), "[s t]");
  options_.kernels.push_back({&softmax_op, &kAlone});
  EXPECT_EQ(joined(), "s t");
}

TEST_F(StepRunsTest, ALaterKernelTakesWhatIsLeft) {
  for (const auto& [name, reads, writes] : {std::tuple("s", "a", 'b'), {"t", "b", 'c'}}) softmax(name, reads, writes);
  add(layer_norm_op, "m", "c", 'd');
  add(layer_norm_op, "n", "d", 'e');
  const RunKernel kernels[] = {
      {.name = "norms", .knows = [](const RunStep& s) { return s.op == &layer_norm_op; }, .takes = takes_two_or_more},
      {.name = "all", .knows = [](const RunStep&) { return true; }, .takes = takes_two_or_more}};
  options_.run_kernels = kernels;
  const auto runs = join_steps(draft_, options_, constants_);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].kernel->name, "all");
  EXPECT_EQ((*runs)[0].last(), 1u);
  EXPECT_EQ((*runs)[1].kernel->name, "norms");
  EXPECT_EQ((*runs)[1].first, 2u);
}

// What the fake kernel below was asked last.
struct Asked {
  std::vector<std::vector<bool>> inner;
  std::vector<std::vector<int>> in, out;
  std::vector<std::vector<int64_t>> in_offsets;
  const Kernel* alone = nullptr;
};
Asked asked;

size_t takes_three(std::span<const RunStep> steps) {
  asked = {};
  for (const RunStep& step : steps) {
    asked.inner.push_back(step.inner);
    asked.in.push_back(step.in);
    asked.out.push_back(step.out);
    asked.in_offsets.push_back(step.in_offset_bytes);
    asked.alone = step.kernel;
    EXPECT_EQ(step.c.in.size(), step.in.size());
    EXPECT_EQ(step.c.out[0].type->shape, Shape{16});
  }
  return steps.size() < 3 ? 0 : 3;
}

TEST_F(StepRunsTest, AKernelSeesWhatNobodyElseReads) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  softmax("u", "c", 'd');
  softmax("v", "d", 'e');  // the kernel knows it, but does not take it
  draft_.steps[1].in.push_back({});
  draft_.steps[1].in[0].offset_bytes = 64;
  EXPECT_EQ(joined(takes_three), "[s t u] v");
  ASSERT_EQ(asked.inner.size(), 1u);  // v alone, in the end
  other("w", "b", 'f');
  draft_.steps.erase(draft_.steps.begin() + 3);
  EXPECT_EQ(joined(takes_three), "[s t u] w");
  EXPECT_THAT(asked.inner, ElementsAre(ElementsAre(false), ElementsAre(true), ElementsAre(true)));
  EXPECT_THAT(asked.in, ElementsAre(ElementsAre('a' - 'A'), ElementsAre('b' - 'A', -1), ElementsAre('c' - 'A')));
  EXPECT_THAT(asked.in_offsets, ElementsAre(ElementsAre(0), ElementsAre(64, 0), ElementsAre(0)));
  EXPECT_THAT(asked.out[2], ElementsAre('d' - 'A'));
  EXPECT_EQ(asked.alone, &kAlone);
}

// It takes steps as long as their results are read by the next alone, and one more.
size_t takes_a_chain(std::span<const RunStep> steps) {
  size_t count = 1;
  while (count < steps.size() && steps[count - 1].inner[0]) ++count;
  return count < 2 ? 0 : count;
}

TEST_F(StepRunsTest, AKernelIsAskedAgainWithWhatItTook) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  softmax("u", "c", 'd');
  softmax("v", "b", 'e');
  other("w", "d", 'f');
  // It would take s, t and u; without v, which reads what s makes too, not even s and t.
  EXPECT_EQ(joined(takes_a_chain), "s [t u] v w");
}

TEST_F(StepRunsTest, AKernelIsToldWhatIsReadOutside) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  add(layer_norm_op, "n", "b", 'd');
  draft_.steps[2].in[0].offset_bytes = 32;
  static bool is_told;
  joined([](std::span<const RunStep> steps) -> size_t {
    if (steps.size() < 2) return 0;
    is_told = steps[0].outside[0].size() == 1 && steps[0].outside[0][0].offset_bytes == 32 && !steps[0].inner[0] &&
              steps[1].outside[0].empty() && steps[1].inner[0];
    return 2;
  });
  EXPECT_TRUE(is_told);
}

TEST_F(StepRunsTest, AnErrorNamesTheRun) {
  softmax("s", "a", 'b');
  softmax("t", "b", 'c');
  const RunKernel kernel{.name = "chain",
                         .knows = knows_softmax,
                         .takes = takes_two_or_more,
                         .prepare = [](std::span<const RunStep>, ConstantStore&) -> Result<RunParts> {
                           return Error(Code::kDeviceError, "no more of it");
                         }};
  options_.run_kernels = {&kernel, 1};
  const auto runs = join_steps(draft_, options_, constants_);
  ASSERT_FALSE(runs);
  EXPECT_THAT(to_string(runs.error()), testing::HasSubstr("planning chain from Softmax 's' to Softmax 't'"));
}

TEST_F(StepRunsTest, WithoutKernelsNothingIsDone) {
  softmax("s", "a", 'b');
  EXPECT_THAT(*join_steps(draft_, {}, constants_), IsEmpty());
  EXPECT_EQ(draft_.steps.size(), 1u);
}

}  // namespace
}  // namespace plica
