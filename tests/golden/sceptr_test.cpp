// What PyTorch computes with the published weights of SCEPTR, against the ONNX file of models/sceptr/export.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "plica/session.h"
#include "tests/golden/recorded.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr char kModel[] = PLICA_SOURCE_DIR "/.deps/models/sceptr/sceptr.onnx";
constexpr int64_t kMask = 1, kWidth = 64, kNumLetters = 20;

// Rows of the recorded receptors.
enum Receptor : int64_t { kA6, kA6WithF, kA6WithOtherBeta, kBetaOfA6, kA6WithOneResidueLoop, kA6Masked };

class Sceptr : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModel)) GTEST_SKIP() << kModel << " is absent: tools/dev/models makes it";
    expected_ = read_recorded("sceptr/expected/receptors.npz");
    found_ = run(expected_["tokens"]);
  }

  Tensors run(const Tensor& tokens) {
    auto model = Model::load(kModel, {.device = test_device()});
    EXPECT_TRUE(model) << (model ? "" : to_string(model.error()));
    if (!model) return {};
    auto outputs = model->session()->run({{"tokens", tokens}});
    EXPECT_TRUE(outputs) << (outputs ? "" : to_string(outputs.error()));
    return outputs ? *outputs : Tensors{};
  }

  double distance(Receptor a, Receptor b) {
    const float* vectors = found_["vector"].as<float>();
    double sum = 0;
    for (int64_t c = 0; c < kWidth; ++c) sum += std::pow(vectors[a * kWidth + c] - vectors[b * kWidth + c], 2);
    return std::sqrt(sum);
  }

  Tensors expected_, found_;
};

TEST_F(Sceptr, VectorsStatesAndLogitsAreThoseOfPyTorch) {
  const Tensor &tokens = expected_["tokens"], &vectors = expected_["vector"];
  for (int64_t i = 0; i < num_elements(vectors.shape()); ++i)
    ASSERT_NEAR(found_["vector"].as<float>()[i], vectors.as<float>()[i], 1e-5) << i;
  const int64_t length = tokens.shape()[1];
  const Tensor& states = expected_["last_hidden_state"];  // of the first two
  for (int64_t i = 0; i < num_elements(states.shape()); ++i) {
    if (tokens.as<int64_t>()[i / kWidth * 4] == 0) continue;  // padding's states mean nothing
    ASSERT_NEAR(found_["last_hidden_state"].as<float>()[i], states.as<float>()[i], 1e-4) << i;
  }
  const Tensor& logits = expected_["residue_logits"];  // of the last
  for (int64_t i = 0; i < num_elements(logits.shape()); ++i)
    ASSERT_NEAR(found_["residue_logits"].as<float>()[kA6Masked * length * kNumLetters + i], logits.as<float>()[i],
                1e-4);
}

TEST_F(Sceptr, AlikeReceptorsAreNear) {
  EXPECT_NEAR(distance(kA6, kA6WithF), 0.267, 5e-4);
  EXPECT_NEAR(distance(kA6, kA6WithOtherBeta), 1.080, 5e-4);
}

TEST_F(Sceptr, MaskedEndsOfCdr3ComeBack) {
  const Tensor& tokens = expected_["tokens"];
  const int64_t length = tokens.shape()[1];
  std::string letters;
  for (int64_t i = kA6Masked * length; i < (kA6Masked + 1) * length; ++i) {
    if (tokens.as<int64_t>()[i * 4] != kMask) continue;
    const float* row = found_["residue_logits"].as<float>() + i * kNumLetters;
    letters += "ACDEFGHIKLMNPQRSTVWY"[std::max_element(row, row + kNumLetters) - row];
  }
  EXPECT_EQ(letters, "CFCF");
}

// The beta chain alone is padded in the batch; a loop of one residue divides 0 by 0.
TEST_F(Sceptr, PaddingChangesNothing) {
  const Tensor& tokens = expected_["tokens"];
  const int64_t length = tokens.shape()[1];
  for (const int64_t receptor : {kBetaOfA6, kA6WithOneResidueLoop}) {
    const int64_t* rows = tokens.as<int64_t>() + receptor * length * 4;
    int64_t num_rows = 0;
    while (num_rows < length && rows[num_rows * 4] != 0) ++num_rows;
    ASSERT_LT(num_rows, length);
    Tensor alone = *Tensor::zeros(DType::kI64, {1, num_rows, 4});
    std::copy_n(rows, num_rows * 4, alone.as<int64_t>());
    Tensors found = run(alone);
    for (int64_t c = 0; c < kWidth; ++c)
      EXPECT_NEAR(found["vector"].as<float>()[c], found_["vector"].as<float>()[receptor * kWidth + c], 1e-5);
  }
}

}  // namespace
}  // namespace plica
