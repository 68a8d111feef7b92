#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"
#include "tests/harness/test_device.h"
#include "tests/harness/text_source.h"

namespace plica {
namespace {

using testing::HasSubstr;

constexpr const char* kModel = R"(
    input ids: i64 {L}
    input x: f32 {L}x24
    constant table: f32 32x24
    constant w: f32 24x40
    constant positions: f32 {L}x1
    e = Add(Gather(table, ids), x)
    h = Softmax(MatMul(Add(e, positions), w, _, _, _))
    m = Reduce(h) {kind="max", axes=[0], keepdims=false}
    output h
    output m
)";

Model test_model(const char* text = kModel, LoadOptions options = {}) {
  options.device = test_device();
  options.num_threads = 1;
  return *Model::State::make(text_source(text), std::move(options));
}

std::map<std::string, Tensor> inputs_of(int64_t length, int64_t seed = 0) {
  std::map<std::string, Tensor> inputs{{"ids", *Tensor::zeros(DType::kI64, {length})},
                                       {"x", *Tensor::zeros(DType::kF32, {length, 24})}};
  for (int64_t i = 0; i < length; ++i) inputs["ids"].as<int64_t>()[i] = (i * 7 + seed) % 32;
  for (int64_t i = 0; i < length * 24; ++i)
    inputs["x"].as<float>()[i] = static_cast<float>((i * 13 + seed * 5) % 17) / 8.f - 1.f;
  return inputs;
}

// Memory of the device with the bytes of a tensor.
class OnDevice {
 public:
  OnDevice(const Tensor& tensor, size_t askew = 0) : type_(tensor.type()), bytes_(tensor.num_bytes()) {
    memory_ = *test_context()->allocate(bytes_ + askew);
    data_ = static_cast<std::byte*>(memory_.get()) + askew;
    fill(tensor);
  }
  void fill(const Tensor& tensor) { EXPECT_TRUE(test_context()->copy(data_, tensor.data(), bytes_, nullptr)); }
  TensorView view() const { return {type_, data_}; }
  Tensor read() const {
    Tensor tensor = *Tensor::zeros(type_.dtype, type_.shape);
    EXPECT_TRUE(test_context()->copy(tensor.data(), data_, bytes_, nullptr));
    return tensor;
  }

 private:
  TensorType type_;
  size_t bytes_;
  std::shared_ptr<void> memory_;
  std::byte* data_;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.num_bytes()) == 0;
}

class DeviceMemory : public testing::Test {
 protected:
  // Runs with memory of the device; whether the outputs are those of a run with memory of the host.
  bool agrees(const OnDevice& ids, const OnDevice& x, const OnDevice& to_h, const OnDevice& to_m, int64_t seed) {
    const auto wanted = *plain.run(inputs_of(9, seed));
    EXPECT_TRUE(session.bind(0, ids.view()) && session.bind(1, x.view()));
    EXPECT_TRUE(session.bind_output(0, to_h.view()) && session.bind_output(1, to_m.view()));
    const Status ran = session.run(), done = session.synchronize();
    EXPECT_TRUE(ran && done) << (ran ? to_string(done.error()) : to_string(ran.error()));
    return same_bits(to_h.read(), wanted.at("h")) && same_bits(to_m.read(), wanted.at("m"));
  }

  Model model = test_model();
  Session session = *model.session(), plain = *model.session();
  Tensor h = *Tensor::zeros(DType::kF32, {9, 40}), m = *Tensor::zeros(DType::kF32, {40});
};

TEST_F(DeviceMemory, IsUsedInPlaceAtEachRun) {
  OnDevice ids(inputs_of(9).at("ids")), x(inputs_of(9).at("x"));
  const OnDevice to_h(h), to_m(m);
  for (int64_t seed = 0; seed < 5; ++seed) {
    ids.fill(inputs_of(9, seed).at("ids"));
    x.fill(inputs_of(9, seed).at("x"));
    EXPECT_TRUE(agrees(ids, x, to_h, to_m, seed)) << seed;
    EXPECT_EQ(session.outputs()[0].data, to_h.view().data);
  }
}

TEST_F(DeviceMemory, MayChangeFromRunToRun) {
  std::vector<OnDevice> ids, x, to_h, to_m;
  for (int64_t seed = 0; seed < 3; ++seed) {
    ids.emplace_back(inputs_of(9, seed).at("ids"));
    x.emplace_back(inputs_of(9, seed).at("x"));
    to_h.emplace_back(h);
    to_m.emplace_back(m);
  }
  const int64_t order[] = {0, 1, 2, 0, 0, 1, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 1, 0};
  for (const int64_t i : order) {
    const auto at = static_cast<size_t>(i);
    EXPECT_TRUE(agrees(ids[at], x[at], to_h[2 - at], to_m[at], i)) << i;
  }
}

TEST_F(DeviceMemory, AskewIsCopied) {
  const OnDevice ids(inputs_of(9).at("ids"), 8), x(inputs_of(9).at("x"), 4);
  const OnDevice to_h(h, 4), to_m(m, 12);
  for (int run = 0; run < 3; ++run) EXPECT_TRUE(agrees(ids, x, to_h, to_m, 0)) << run;
}

TEST_F(DeviceMemory, OfAnInputIsNoOutputs) {
  const OnDevice ids(inputs_of(9).at("ids")), x(inputs_of(9).at("x")), to_h(h), to_m(m);
  ASSERT_TRUE(agrees(ids, x, to_h, to_m, 0));
  const TensorView last_of_x{to_m.view().type, static_cast<float*>(x.view().data) + 9 * 24 - 1};
  ASSERT_TRUE(session.bind_output(1, last_of_x));
  EXPECT_THAT(session.run().error().what(), HasSubstr("output 'm': bound memory overlaps that of input 'x'"));
  EXPECT_TRUE(agrees(ids, x, to_h, to_m, 0));
}

TEST_F(DeviceMemory, MixesWithMemoryOfTheHost) {
  for (int64_t seed = 0; seed < 4; ++seed) {
    const auto inputs = inputs_of(9, seed);
    const auto wanted = *plain.run(inputs);
    const OnDevice x(inputs.at("x")), to_m(m);
    ASSERT_TRUE(session.bind(0, inputs.at("ids").view()) && session.bind(1, x.view()));
    ASSERT_TRUE(session.bind_output(0, seed % 2 == 0 ? h.view() : TensorView{}) && session.bind_output(1, to_m.view()));
    ASSERT_TRUE(session.run());
    EXPECT_EQ(std::memcmp(session.outputs()[0].data, wanted.at("h").data(), h.num_bytes()), 0) << seed;
    EXPECT_TRUE(same_bits(to_m.read(), wanted.at("m"))) << seed;
  }
}

TEST_F(DeviceMemory, AnIndexOutsideIsAnErrorOfALaterCall) {
  if (tests_the_cpu()) GTEST_SKIP() << "runs on the CPU are never queued";
  OnDevice ids(inputs_of(9).at("ids"));
  const OnDevice x(inputs_of(9).at("x")), to_h(h), to_m(m);
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(agrees(ids, x, to_h, to_m, 0));
  auto bad = inputs_of(9);
  bad["ids"].as<int64_t>()[4] = 32;
  ids.fill(bad["ids"]);
  ASSERT_TRUE(session.run());
  const Status status = session.synchronize();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kInvalidInput);
  EXPECT_THAT(status.error().what(), HasSubstr("Gather"));
  EXPECT_THAT(status.error().what(), HasSubstr("index 32, wanted -32 <= index < 32"));
  ids.fill(inputs_of(9)["ids"]);
  EXPECT_TRUE(agrees(ids, x, to_h, to_m, 0));
}

TEST_F(DeviceMemory, RunsOnTheStreamOfTheCaller) {
  if (tests_the_cpu()) {
    int stream = 0;
    EXPECT_THAT(session.set_stream(&stream).error().what(), HasSubstr("the model is on the CPU"));
    return;
  }
  const Session other = *model.session();
  const OnDevice ids(inputs_of(9).at("ids")), x(inputs_of(9).at("x")), to_h(h), to_m(m);
  void* const stream = plain.state().runner->stream();
  for (int run = 0; run < 6; ++run) {
    ASSERT_TRUE(session.set_stream(run % 2 == 0 ? stream : nullptr));
    EXPECT_EQ(session.state().runner->stream() == stream, run % 2 == 0);
    EXPECT_TRUE(agrees(ids, x, to_h, to_m, 0)) << run;
  }
  ASSERT_TRUE(session.set_stream(nullptr));
}

TEST(Device, ASecondShapeMovesNoWeights) {
  const Model model = test_model();
  Session session = *model.session();
  ASSERT_TRUE(session.run(inputs_of(40)));
  const size_t uploaded = model.state()->context->uploaded_bytes(), made = model.state()->constants.num_made();
  const Plan& plan = *session.state().planned->plan;
  size_t tables = 0;
  for (const ConstantPtr& table : plan.tables) tables += (num_bytes(table->type) + 255) / 256 * 256;
  if (!tests_the_cpu()) {
    EXPECT_EQ(plan.weights_bytes, uploaded + tables);
  }
  for (int64_t length = 1; length < 40; ++length) ASSERT_TRUE(session.run(inputs_of(length)));
  EXPECT_EQ(model.state()->context->uploaded_bytes(), uploaded);
  EXPECT_EQ(model.state()->constants.num_made(), made);
}

TEST(Device, OutOfMemoryLeavesTheSessionUsable) {
  if (tests_the_cpu()) GTEST_SKIP() << "the system grants addresses before it has memory";
  const Model model = test_model(R"(
      input x: f32 {N}x1
      t = Transpose(x) {perm=[1,0]}
      p = MatMul(x, t, _, _, _)
      s = Softmax(p)
      y = Reduce(s) {kind="sum", axes=[0], keepdims=false}
      output y
  )");
  Session session = *model.session();
  for (int64_t length : {5, 1000000, 6, 1000000, 5}) {
    const auto outputs = session.run({{"x", *Tensor::zeros(DType::kF32, {length, 1})}});
    EXPECT_EQ(static_cast<bool>(outputs), length < 10);
    if (outputs) {
      EXPECT_NEAR(outputs->at("y").as<float>()[0], 1, 1e-5);
    } else {
      EXPECT_EQ(outputs.error().code(), Code::kOutOfMemory);
      EXPECT_THAT(outputs.error().what(), HasSubstr("bytes"));
    }
  }
}

TEST(Device, EveryGpuGivesTheSameBits) {
  if (tests_the_cpu()) GTEST_SKIP() << "there is one CPU";
  const auto wanted = *test_model().session()->run(inputs_of(7));
  int num_gpus = 0;
  for (; open_device("cuda:" + std::to_string(num_gpus), 1); ++num_gpus) {
    const Model model = *Model::State::make(text_source(kModel), {.device = "cuda:" + std::to_string(num_gpus)});
    Session session = *model.session();
    for (int run = 0; run < 3; ++run) {
      const auto outputs = session.run(inputs_of(7));
      ASSERT_TRUE(outputs) << to_string(outputs.error());
      EXPECT_TRUE(same_bits(outputs->at("h"), wanted.at("h"))) << "cuda:" << num_gpus;
    }
    const auto x = *test_context()->allocate(7 * 24 * 4);  // of the first GPU: other GPUs copy it
    Tensor ids = inputs_of(7).at("ids"), host_x = inputs_of(7).at("x");
    ASSERT_TRUE(test_context()->copy(x.get(), host_x.data(), host_x.num_bytes(), nullptr));
    ASSERT_TRUE(session.bind(0, ids.view()) && session.bind(1, {host_x.type(), x.get()}));
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(session.run());
      EXPECT_EQ(std::memcmp(session.outputs()[0].data, wanted.at("h").data(), wanted.at("h").num_bytes()), 0);
    }
  }
  if (num_gpus < 2) GTEST_SKIP() << "there is one GPU";
}

TEST(Device, FourSessionsGiveTheSameBitsWhileModelsLoad) {
  const Model model = test_model();
  Session alone = *model.session();
  std::vector<std::map<std::string, Tensor>> wanted;
  for (int64_t length = 1; length < 9; ++length) wanted.push_back(*alone.run(inputs_of(length)));
  std::atomic<int> num_same = 0;
  std::atomic<bool> done = false;
  const auto work = [&] {
    Session session = *model.session();
    for (int64_t turn = 0; turn < 32; ++turn) {
      const auto outputs = session.run(inputs_of(1 + turn % 8));
      const auto& same = wanted[static_cast<size_t>(turn % 8)];
      EXPECT_TRUE(outputs) << to_string(outputs.error());
      num_same += outputs && same_bits(outputs->at("h"), same.at("h")) && same_bits(outputs->at("m"), same.at("m"));
    }
  };
  std::thread loader([&] {
    for (int64_t i = 0; !done || i == 0; ++i) {
      const auto outputs = test_model().session()->run(inputs_of(3 + i % 4));
      EXPECT_TRUE(outputs) << to_string(outputs.error());
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  done = true;
  loader.join();
  EXPECT_EQ(num_same, 4 * 32);
}

}  // namespace
}  // namespace plica
