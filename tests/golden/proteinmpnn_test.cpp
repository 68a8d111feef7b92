// What the published ProteinMPNN computes for HIV-1 protease (PDB 1HPV), against the files of models/proteinmpnn/export.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "plica/session.h"
#include "tests/golden/recorded.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr char kModels[] = PLICA_SOURCE_DIR "/.deps/models/proteinmpnn/";
constexpr int64_t kNumLetters = 21, kNumNeighbours = 48, kChainLength = 99;

class ProteinMpnn : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModels + std::string("score.onnx")))
      GTEST_SKIP() << kModels << " has no models: tools/dev/models makes them";
    expected_ = read_recorded("proteinmpnn/expected/1hpv.npz");
    for (const char* name : {"coords", "mask", "residue_index", "chain", "tokens", "rank"})
      inputs_[name] = expected_[name];
  }

  Tensors run(const std::string& file, Tensors inputs) {
    if (file == "encoder.onnx")
      for (const char* name : {"tokens", "rank"}) inputs.erase(name);
    auto model = Model::load(kModels + file, {.device = test_device()});
    EXPECT_TRUE(model) << (model ? "" : to_string(model.error()));
    if (!model) return {};
    auto outputs = model->session()->run(inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : to_string(outputs.error()));
    return outputs ? *outputs : Tensors{};
  }

  // The first residues of each input in a batch of this length, behind them zeros.
  Tensors cut(int64_t num_residues, int64_t length) const {
    Tensors found;
    for (const auto& [name, input] : inputs_) {
      Shape shape = input.shape();
      shape[1] = length;
      const auto row_bytes = num_elements(input.shape()) / input.shape()[1] * size_of(input.dtype());
      found[name] = *Tensor::zeros(input.dtype(), shape);
      std::copy_n(static_cast<const char*>(input.data()), num_residues * row_bytes,
                  static_cast<char*>(found[name].data()));
    }
    return found;
  }

  void expect_near(const Tensor& found, const Tensor& wanted) {
    for (int64_t i = 0; i < num_elements(wanted.shape()); ++i)
      ASSERT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 1e-4) << i;
  }

  // Of all residues alike: none is known when another is decided.
  Tensors unconditional() const {
    Tensors inputs = inputs_;
    inputs["rank"] = *Tensor::zeros(DType::kI64, inputs["rank"].shape());
    return inputs;
  }

  Tensors expected_, inputs_;
};

TEST_F(ProteinMpnn, StatesAndNeighboursAreThoseOfPyTorch) {
  Tensors found = run("encoder.onnx", inputs_);
  const Tensor& rows = expected_["rows"];
  const Tensor &nodes = expected_["node_states"], &edges = expected_["edge_states"];
  const int64_t width = nodes.shape()[1];
  for (int64_t r = 0; r < nodes.shape()[0]; ++r) {
    const int64_t row = rows.as<int64_t>()[r], edge = row * kNumNeighbours + 1;
    for (int64_t c = 0; c < width; ++c) {
      ASSERT_NEAR(found["node_states"].as<float>()[row * width + c], nodes.as<float>()[r * width + c], 1e-4) << row;
      ASSERT_NEAR(found["edge_states"].as<float>()[edge * width + c], edges.as<float>()[r * width + c], 1e-4) << row;
    }
    for (int64_t k = 0; k < kNumNeighbours; ++k)
      ASSERT_EQ(found["neighbours"].as<int64_t>()[row * kNumNeighbours + k],
                expected_["neighbours"].as<int64_t>()[r * kNumNeighbours + k]);
  }
}

TEST_F(ProteinMpnn, ScoreInAGivenOrderIsThatOfPyTorch) {
  const Tensor log_probs = run("score.onnx", inputs_)["log_probs"];
  expect_near(log_probs, expected_["log_probs"]);
  double sum = 0;
  for (int64_t i = 0; i < 2 * kChainLength; ++i)
    sum -= log_probs.as<float>()[i * kNumLetters + inputs_["tokens"].as<int64_t>()[i]];
  EXPECT_NEAR(sum / (2 * kChainLength), 1.3889, 1e-4);
}

TEST_F(ProteinMpnn, WithoutAnOrderHalfOfTheSequenceAndTheCatalyticSiteAreRecovered) {
  const Tensor log_probs = run("score.onnx", unconditional())["log_probs"];
  expect_near(log_probs, expected_["unconditional_log_probs"]);
  int recovered = 0;
  const int64_t* truth = inputs_["tokens"].as<int64_t>();
  std::vector<bool> right;
  for (int64_t i = 0; i < 2 * kChainLength; ++i) {
    const float* row = log_probs.as<float>() + i * kNumLetters;
    right.push_back(std::max_element(row, row + kNumLetters) - row == truth[i]);
    recovered += right.back();
  }
  EXPECT_EQ(recovered, 97);               // of 198: 49.0 %
  for (const size_t site : {24, 25, 26})  // Asp 25, Thr 26, Gly 27 in both chains
    EXPECT_TRUE(right[site] && right[site + kChainLength]) << site + 1;
  EXPECT_NEAR(std::exp(log_probs.as<float>()[24 * kNumLetters + truth[24]]), 0.88, 0.005);
}

TEST_F(ProteinMpnn, PaddingChangesNothing) {
  const Tensor alone = run("score.onnx", cut(kChainLength, kChainLength))["log_probs"];
  const Tensor padded = run("score.onnx", cut(kChainLength, kChainLength + 20))["log_probs"];
  expect_near(padded, alone);
}

TEST_F(ProteinMpnn, AProteinShorterThanTheNeighboursTakesAllOfThem) {
  Tensors found = run("encoder.onnx", cut(30, 30));
  EXPECT_EQ(found["neighbours"].shape(), (Shape{1, 30, 30}));
  const Tensor log_probs = run("score.onnx", cut(30, 30))["log_probs"];
  for (int64_t i = 0; i < 30; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < kNumLetters; ++c) sum += std::exp(log_probs.as<float>()[i * kNumLetters + c]);
    EXPECT_NEAR(sum, 1, 1e-4);
  }
}

}  // namespace
}  // namespace plica
