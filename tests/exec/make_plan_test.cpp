#include <gmock/gmock.h>

#include <array>
#include <random>

#include "ops/expand.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "runtime/core/shape.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(MakePlan, ViewsAreNoSteps) {
  if (!tests_the_cpu()) GTEST_SKIP() << "it names kernels of the CPU";
  const auto plan = plan_of(graph_of(R"(
      input x: f32 2x3x4
      t = Transpose(x) {perm=[0,2,1]}
      s = Slice(t) {starts=[0,1,0], sizes=[2,2,3], steps=[1,1,1]}
      y = Softmax(s)
      output y
  )"),
                            {.reference = true});
  EXPECT_EQ(steps_of(*plan), "Softmax.ref");
  EXPECT_THAT(plan->steps[0].in[0].type.strides, ElementsAre(12, 1, 4));
  EXPECT_EQ(plan->steps[0].in[0].offset_bytes, 4);
  EXPECT_EQ(plan->steps[0].out[0].kind, Place::Kind::kOutput);
}

TEST(MakePlan, ReshapeThatIsNoViewIsCopiedOnce) {
  if (!tests_the_cpu()) GTEST_SKIP() << "it names kernels of the CPU";
  const auto plan = plan_of(graph_of(R"(
      input x: f32 3x4
      t = Transpose(x) {perm=[1,0]}
      a = Reshape(t) {shape=[12]}
      b = Reshape(t) {shape=[2,6]}
      c = Concat(a, a) {axis=0}
      d = Concat(b, b) {axis=0}
      output c
      output d
  )"),
                            {.reference = true});
  EXPECT_EQ(steps_of(*plan), "Copy.ref Concat.ref Concat.ref");
}

TEST(MakePlan, OutputsThatAreInputsConstantsOrViewsAreCopied) {
  const auto plan = plan_of(graph_of(R"(
      input x: f32 2x3
      constant c: f32 3 = [7,8,9]
      t = Transpose(x) {perm=[1,0]}
      s = Softmax(x)
      row = Slice(s) {starts=[0,0], sizes=[1,3], steps=[1,1]}
      same = Reshape(s) {shape=[6]}
      output x
      output c
      output t
      output s
      output row
      output same
      output again = s
  )"),
                            {.reference = true});
  const std::vector<Tensor> outputs = run_plan(*plan);
  EXPECT_EQ(plan->steps.size(), 7u);
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(7, 8, 9));
  EXPECT_THAT(values_of(outputs[2]), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(outputs[4].shape(), (Shape{1, 3}));
  EXPECT_EQ(values_of(outputs[5]), values_of(outputs[3]));
  EXPECT_EQ(values_of(outputs[6]), values_of(outputs[3]));
}

TEST(MakePlan, ConstantsSeenThroughViewsAreConstants) {
  const auto plan = plan_of(graph_of(R"(
      input x: f32 1x2
      constant w: f32 3x2 = [1,2,3,4,5,6]
      t = Transpose(w) {perm=[1,0]}
      s = Slice(t) {starts=[0,1], sizes=[2,2], steps=[1,1]}
      y = MatMul(x, s, _, _, _)
      output y
  )"),
                            {.reference = true});
  EXPECT_THAT(values_of(run_plan(*plan)[0]), ElementsAre(4, 6));
  if (!tests_the_cpu()) return;
  const Place& weight = plan->steps[0].in[1];
  ASSERT_EQ(weight.kind, Place::Kind::kConstant);
  EXPECT_EQ(weight.constant->type, weight.type);
  EXPECT_EQ(*static_cast<const float*>(weight.constant->data), 3);
}

TEST(MakePlan, ZeroSizesHaveMemory) {
  const auto plan = plan_of(graph_of(R"(
      input x: f32 0x3
      y = Softmax(x)
      t = Transpose(y) {perm=[1,0]}
      z = MatMul(t, y, _, _, _)
      output y
      output z
  )"));
  const std::vector<Tensor> outputs = run_plan(*plan);
  EXPECT_EQ(outputs[0].shape(), (Shape{0, 3}));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(MakePlan, FaultsNameTheStep) {
  auto graph = graph_of("input ids: i64 4\nconstant w: f32 2x3\ny = Gather(w, ids)\noutput y\n");
  const auto plan = plan_of(std::move(graph));
  Tensor ids = *Tensor::zeros(DType::kI64, {4});
  std::copy_n(std::array<int64_t, 4>{0, 1, -2, 7}.data(), 4, ids.as<int64_t>());
  const auto status = run_on_test_device(plan, {ids});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kInvalidInput);
  EXPECT_THAT(status.error().what(), HasSubstr("index 7, wanted -2 <= index < 2"));
}

TEST(MakePlan, LimitSaysWhatIsNeeded) {
  ConstantStore constants;
  const auto plan =
      make_plan(graph_of("input x: f32 100\ny = Softmax(x)\noutput y\n"), {.memory_limit_bytes = 100}, constants);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), Code::kOutOfMemory);
  EXPECT_THAT(plan.error().what(), HasSubstr("the arena needs 512 bytes, the memory limit is 100"));
}

// One random view operator with its value computed element by element.
class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : random_(seed) {}

  void apply(Graph& graph, ValueId& value, std::vector<double>& data) {
    const Shape shape = graph.type(value).shape;
    switch (random_() % 4) {
      case 0: return emit(graph, value, data, transpose_op, transpose(shape));
      case 1: return emit(graph, value, data, slice_op, slice(shape));
      case 2: return emit(graph, value, data, reshape_op, reshape(shape));
      default: return emit(graph, value, data, expand_op, expand(shape));
    }
  }

 private:
  // The value is `data` in row-major order, so the oracle places each result element by its index.
  void emit(Graph& graph, ValueId& value, std::vector<double>& data, const OpDef& op, Attrs attrs) {
    const Shape from = graph.type(value).shape;
    const NodeId node = *graph.add_node(op, attrs, {value});
    value = graph.node(node).outputs[0];
    const Shape to = graph.type(value).shape;
    std::vector<double> result;
    const Strides strides = dense_strides(from);
    for (int64_t i = 0; i < num_elements(to); ++i) {
      Shape index(to.size());
      int64_t rest = i, at = &op == &reshape_op ? i : 0;
      for (size_t k = to.size(); k-- > 0; rest /= to[k]) index[k] = rest % to[k];
      for (size_t k = 0; k < to.size(); ++k) {
        if (&op == &transpose_op) at += index[k] * strides[static_cast<size_t>(attrs.as<ops::Transpose>().perm[k])];
        if (&op == &slice_op)
          at += (attrs.as<ops::Slice>().starts[k] + index[k] * attrs.as<ops::Slice>().steps[k]) * strides[k];
        const size_t shift = to.size() - from.size();
        if (&op == &expand_op && k >= shift && from[k - shift] != 1) at += index[k] * strides[k - shift];
      }
      result.push_back(data[static_cast<size_t>(at)]);
    }
    data = std::move(result);
  }

  Attrs transpose(const Shape& shape) {
    ops::Transpose op;
    for (size_t i = 0; i < shape.size(); ++i) op.perm.push_back(static_cast<int64_t>(i));
    std::shuffle(op.perm.begin(), op.perm.end(), random_);
    return op;
  }
  Attrs slice(const Shape& shape) {
    ops::Slice op;
    for (int64_t size : shape) {
      const bool reverse = random_() % 3 == 0;
      const auto start = static_cast<int64_t>(random_() % 2) % std::max<int64_t>(size, 1);
      op.starts.push_back(reverse ? size - 1 : start);
      op.sizes.push_back(reverse ? size : size - start);
      op.steps.push_back(reverse ? -1 : 1);
    }
    return op;
  }
  Attrs reshape(const Shape& shape) {
    Shape to = shape;
    if (to.size() > 1 && random_() % 2 == 0) {
      to[0] *= to[1];
      to.erase(to.begin() + 1);
    } else if (!to.empty() && to.back() % 2 == 0) {
      to.back() /= 2;
      to.push_back(2);
    } else {
      to.insert(to.begin(), 1);
    }
    return ops::Reshape{to};
  }
  Attrs expand(const Shape& shape) {
    Shape to = shape;
    for (int64_t& size : to)
      if (size == 1 && num_elements(to) < 500) size = 2;
    return ops::Expand{to};
  }

  std::mt19937 random_;
};

TEST(MakePlan, RandomViewsReadTheRightElements) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Graph graph;
    ValueId value = graph.add_input("x", {DType::kF32, {2, 3, 4}, {}});
    std::vector<double> data(24);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
    RandomViews views(seed);
    for (unsigned i = 0; i < 1 + seed % 8; ++i) views.apply(graph, value, data);
    graph.add_output("y", value);
    EXPECT_EQ(values_of(run_plan(*plan_of(std::move(graph)))[0]), data) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plica
