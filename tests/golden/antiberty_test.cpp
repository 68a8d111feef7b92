// What the published AntiBERTy computes for trastuzumab, against the ONNX file of models/antiberty/export.py.

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

constexpr char kModel[] = PLICA_SOURCE_DIR "/.deps/models/antiberty/antiberty.onnx";
constexpr int64_t kFirstResidue = 5, kNumResidues = 20;  // columns of the logits

Tensor filled(const Shape& shape, int64_t value) {
  Tensor tensor = *Tensor::zeros(DType::kI64, shape);
  std::fill_n(tensor.as<int64_t>(), num_elements(shape), value);
  return tensor;
}

// Softmax over the 20 residues' columns of one row of logits.
std::vector<double> residue_probabilities(const float* logits) {
  std::vector<double> p(logits + kFirstResidue, logits + kFirstResidue + kNumResidues);
  const double top = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - top);
  for (double& x : p) x /= sum;
  return p;
}

class AntiBerty : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kModel)) GTEST_SKIP() << kModel << " is absent: tools/dev/models makes it";
    expected_ = read_recorded(std::string("antiberty/expected/trastuzumab_") + GetParam() + ".npz");
    auto model = Model::load(kModel, {.device = test_device()});
    ASSERT_TRUE(model) << to_string(model.error());
    model_.emplace(*model);
  }

  // All outputs for these ids (B, L), nothing padded.
  Tensors run(const Tensor& ids) { return run(ids, filled(ids.shape(), 1)); }
  Tensors run(const Tensor& ids, const Tensor& mask) {
    auto session = model_->session();
    EXPECT_TRUE(session);
    auto outputs = session->run({{"input_ids", ids}, {"attention_mask", mask}});
    EXPECT_TRUE(outputs) << (outputs ? "" : to_string(outputs.error()));
    return outputs ? *outputs : Tensors{};
  }

  Tensors expected_;
  std::optional<Model> model_;
};

TEST_P(AntiBerty, HiddenStatesAndHeadsAreThoseOfPyTorch) {
  Tensors found = run(expected_["input_ids"]);
  const Tensor& rows = expected_["hidden_rows"];
  for (const auto& [output, recorded] :
       {std::pair{"last_hidden_state", "hidden_states"}, std::pair{"logits", "logits"}}) {
    const Tensor &a = found[output], &b = expected_[recorded];
    const int64_t width = b.shape()[1];
    for (int64_t r = 0; r < b.shape()[0]; ++r)
      for (int64_t c = 0; c < width; ++c)
        ASSERT_NEAR(a.as<float>()[rows.as<int64_t>()[r] * width + c], b.as<float>()[r * width + c], 1e-4)
            << output << " row " << r;
  }
  for (const char* head : {"species_logits", "chain_logits", "graft_logits"})
    for (int64_t i = 0; i < expected_[head].shape()[1]; ++i)
      EXPECT_NEAR(found[head].as<float>()[i], expected_[head].as<float>()[i], 1e-4) << head;
}

TEST_P(AntiBerty, MaskedSitesHaveTheProbabilitiesOfPyTorch) {
  const Tensor logits = run(expected_["masked_input_ids"])["logits"];
  const Tensor &sites = expected_["masked_sites"], &wanted = expected_["masked_site_probabilities"];
  for (int64_t s = 0; s < sites.shape()[0]; ++s) {
    const auto p = residue_probabilities(logits.as<float>() + sites.as<int64_t>()[s] * logits.shape()[2]);
    for (int64_t c = 0; c < kNumResidues; ++c)
      EXPECT_NEAR(p[static_cast<size_t>(c)], wanted.as<float>()[s * kNumResidues + c], 1e-4);
  }
}

// The published figures, to the digits in which they are published.
TEST_P(AntiBerty, ConservedResiduesAreRecognised) {
  struct Site {
    int64_t place;
    char residue;
    double probability;
  };
  const bool heavy = std::string(GetParam()) == "VH";
  const std::vector<Site> sites =
      heavy ? std::vector<Site>{{22, 'C', 0.991}, {36, 'W', 0.991}, {96, 'C', 0.928}, {103, 'Y', 0.49}}
            : std::vector<Site>{{23, 'C', 0.985}, {35, 'W', 0.993}, {88, 'C', 0.971}, {98, 'F', 0.988}};
  const Tensor logits = run(expected_["masked_input_ids"])["logits"];
  constexpr std::string_view kLetters = "ACDEFGHIKLMNPQRSTVWY";
  for (const Site& site : sites) {
    const auto p = residue_probabilities(logits.as<float>() + site.place * logits.shape()[2]);
    EXPECT_NEAR(p[kLetters.find(site.residue)], site.probability, 0.005) << site.residue << site.place;
  }
}

TEST_P(AntiBerty, EachResidueMaskedAloneIsRecoveredAsPublished) {
  const Tensor& ids = expected_["input_ids"];
  const int64_t length = ids.shape()[1], num_residues = length - 2;
  Tensor batch = *Tensor::zeros(DType::kI64, {num_residues, length});
  for (int64_t r = 0; r < num_residues; ++r) {
    std::copy_n(ids.as<int64_t>(), length, batch.as<int64_t>() + r * length);
    batch.as<int64_t>()[r * length + r + 1] = 4;  // [MASK]
  }
  const Tensor logits = run(batch)["logits"];
  double log_likelihood = 0;
  int64_t recovered = 0;
  for (int64_t r = 0; r < num_residues; ++r) {
    const auto p = residue_probabilities(logits.as<float>() + (r * length + r + 1) * logits.shape()[2]);
    const auto truth = static_cast<size_t>(ids.as<int64_t>()[r + 1] - kFirstResidue);
    log_likelihood += std::log(p[truth]);
    recovered += std::max_element(p.begin(), p.end()) - p.begin() == static_cast<std::ptrdiff_t>(truth);
  }
  const bool heavy = std::string(GetParam()) == "VH";
  const auto n = static_cast<double>(num_residues);
  EXPECT_NEAR(log_likelihood / n, heavy ? -0.6447 : -0.5818, 1e-4);
  EXPECT_NEAR(100 * static_cast<double>(recovered) / n, heavy ? 84.2 : 84.1, 0.05);
}

TEST_P(AntiBerty, PaddingChangesNothing) {
  const Tensor& ids = expected_["input_ids"];
  const int64_t length = ids.shape()[1], padded = length + 31;
  Tensor batch = *Tensor::zeros(DType::kI64, {2, padded}), mask = *Tensor::zeros(DType::kI64, {2, padded});
  std::copy_n(ids.as<int64_t>(), length, batch.as<int64_t>());
  std::fill_n(mask.as<int64_t>(), length, 1);
  std::fill_n(batch.as<int64_t>() + padded, padded, int64_t{10});
  std::fill_n(mask.as<int64_t>() + padded, padded, 1);
  const Tensor alone = run(ids)["last_hidden_state"], together = run(batch, mask)["last_hidden_state"];
  for (int64_t i = 0; i < num_elements(alone.shape()); ++i) {
    const float a = together.as<float>()[i], b = alone.as<float>()[i];
    ASSERT_LE(std::abs(a - b), 1e-5f * (1 + std::abs(b))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Trastuzumab, AntiBerty, testing::Values("VH", "VL"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace plica
