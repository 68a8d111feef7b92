// What the published LigandMPNN computes for HIV-1 protease with amprenavir (PDB 1HPV), against the file of
// models/ligandmpnn/export.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "plica/session.h"
#include "tests/golden/recorded.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr char kModel[] = PLICA_SOURCE_DIR "/.deps/models/ligandmpnn/score.onnx";
constexpr int64_t kNumLetters = 21, kNumResidues = 198;

class LigandMpnn : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModel)) GTEST_SKIP() << kModel << " is absent: tools/dev/models ligandmpnn makes it";
    expected_ = read_recorded("ligandmpnn/expected/1hpv.npz");
    auto model = Model::load(kModel, {.device = test_device()});
    ASSERT_TRUE(model) << to_string(model.error());
    for (const TensorInfo& input : model->inputs()) inputs_[input.name] = expected_.at(input.name);
    session_.emplace(*model->session());
  }

  Tensor log_probs() {
    auto outputs = session_->run(inputs_);
    EXPECT_TRUE(outputs) << (outputs ? "" : to_string(outputs.error()));
    return outputs ? outputs->at("log_probs") : *Tensor::zeros(DType::kF32, {1, kNumResidues, kNumLetters});
  }

  void remove_ligand() {
    for (const char* name : {"ligand_coords", "ligand_elements", "ligand_mask"})
      inputs_[name] = *Tensor::zeros(inputs_[name].dtype(), inputs_[name].shape());
  }

  // The mean of -log_probs of the native letters, of all residues or of those near the ligand.
  double score(const Tensor& log_probs, bool near) {
    double sum = 0;
    const int64_t num_residues = near ? expected_["near"].shape()[0] : kNumResidues;
    for (int64_t i = 0; i < num_residues; ++i) {
      const int64_t residue = near ? expected_["near"].as<int64_t>()[i] : i;
      sum -= log_probs.as<float>()[residue * kNumLetters + inputs_["tokens"].as<int64_t>()[residue]];
    }
    return sum / static_cast<double>(num_residues);
  }

  void expect_near(const Tensor& found, const std::string& recorded) {
    for (int64_t i = 0; i < kNumResidues * kNumLetters; ++i)
      ASSERT_NEAR(found.as<float>()[i], expected_[recorded].as<float>()[i], 1e-4) << i;
  }

  Tensors expected_, inputs_;
  std::optional<Session> session_;
};

TEST_F(LigandMpnn, ScoreInAGivenOrderIsThatOfPyTorch) {
  const Tensor found = log_probs();
  expect_near(found, "log_probs");
  EXPECT_NEAR(score(found, false), 1.2051, 1e-4);
  int recovered = 0;
  for (int64_t i = 0; i < kNumResidues; ++i) {
    const float* row = found.as<float>() + i * kNumLetters;
    recovered += std::max_element(row, row + kNumLetters) - row == inputs_["tokens"].as<int64_t>()[i];
  }
  EXPECT_EQ(recovered, 120);  // of 198: 60.6 %
}

// What is masked does not count, whatever stands there.
TEST_F(LigandMpnn, TheLigandMakesItsNeighboursLikelier) {
  ASSERT_EQ(expected_["near"].shape()[0], 20);
  const double with_ligand = score(log_probs(), true);
  remove_ligand();
  const Tensor without = log_probs();
  expect_near(without, "log_probs_without_ligand");
  EXPECT_NEAR(with_ligand, 0.6613, 1e-4);
  EXPECT_NEAR(score(without, true), 1.0137, 1e-4);
}

}  // namespace
}  // namespace plica
