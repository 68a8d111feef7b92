// What the published ANARCII numbers, against the two ONNX files of models/anarcii/export.py in a loop of greedy steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plica/session.h"
#include "tests/golden/recorded.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr char kModels[] = PLICA_SOURCE_DIR "/.deps/models/anarcii/";
constexpr int64_t kPad = 0, kSos = 1, kEos = 2, kSkip = 3, kFirstNumber = 4, kX = 132, kH = 133, kK = 135;
constexpr int64_t kWidth = 128;

// float32 loses so much of a logit between 10 and 40: PyTorch's own differ by 1.1e-2 from its float64.
constexpr float kLogitTolerance = 0.03f;

struct Decoded {
  Tensor encoder_states;                     // (B, L, C)
  std::vector<std::vector<int64_t>> target;  // a row each, <SOS> first, then a label a step
  std::vector<Tensor> logits;                // a step each, (B, 1, V)
};

class Anarcii : public testing::Test {
 protected:
  // The model of this name; false where its files are absent.
  bool load(const std::string& name) {
    folder_ = kModels + name;
    if (!std::filesystem::exists(folder_ + "/step.onnx")) return false;
    for (auto [session, file] : {std::pair{&encoder_, "/encoder.onnx"}, std::pair{&step_, "/step.onnx"}}) {
      auto model = Model::load(folder_ + file, {.device = test_device(), .num_threads = 1});
      if (!model) ADD_FAILURE() << to_string(model.error());
      if (model) session->emplace(*model->session());
      if (session == &step_ && model) num_caches_ = model->inputs().size() - 3;
    }
    return encoder_ && step_;
  }

  Tensors run(Session& session, const Tensors& inputs) {
    auto outputs = session.run(inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : to_string(outputs.error()));
    return outputs ? *outputs : Tensors{};
  }

  // One label more than the sources have tokens. `source_ids` (B, L), padded behind.
  Decoded decode(const Tensor& source_ids) {
    const int64_t batch = source_ids.shape()[0], num_steps = source_ids.shape()[1];
    Decoded decoded{run(*encoder_, {{"source_ids", source_ids}})["encoder_states"], {}, {}};
    decoded.target.assign(static_cast<size_t>(batch), {kSos});
    Tensors inputs = {{"source_ids", source_ids}, {"encoder_states", decoded.encoder_states}};
    for (const std::string& name : caches()) inputs["past_" + name] = *Tensor::zeros(DType::kF32, {batch, 0, kWidth});
    for (int64_t step = 0; step < num_steps; ++step) {
      inputs["target_ids"] = ids_of(decoded.target);
      Tensors outputs = run(*step_, inputs);
      if (outputs.empty()) break;
      for (const std::string& name : caches()) inputs["past_" + name] = outputs["present_" + name];
      const Tensor& logits = decoded.logits.emplace_back(outputs["logits"]);
      const int64_t num_labels = logits.shape()[2];
      for (int64_t b = 0; b < batch; ++b) {
        const float* row = logits.as<float>() + b * num_labels;
        decoded.target[static_cast<size_t>(b)].push_back(std::max_element(row, row + num_labels) - row);
      }
    }
    return decoded;
  }

  static Tensor ids_of(const std::vector<std::vector<int64_t>>& rows) {
    size_t width = 0;
    for (const auto& row : rows) width = std::max(width, row.size());
    Tensor ids = *Tensor::zeros(DType::kI64, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
    for (size_t b = 0; b < rows.size(); ++b) std::copy(rows[b].begin(), rows[b].end(), ids.as<int64_t>() + b * width);
    return ids;
  }

  static std::vector<int64_t> row_of(const Tensor& ids) {
    return {ids.as<int64_t>(), ids.as<int64_t>() + num_elements(ids.shape())};
  }

  std::vector<std::string> caches() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < num_caches_; ++i) names.push_back((i % 2 == 0 ? "key_" : "value_") + std::to_string(i / 2));
    return names;
  }

  std::string folder_;
  std::optional<Session> encoder_, step_;
  size_t num_caches_ = 0;
};

// The numbers that a row of labels gives to residues, behind <SOS> and the chain.
std::vector<int64_t> numbers_of(const std::vector<int64_t>& labels) {
  std::vector<int64_t> numbers;
  for (size_t i = 2; i < labels.size() && labels[i] != kEos; ++i) numbers.push_back(labels[i] - kFirstNumber + 1);
  return numbers;
}

// The mean of the top logits, as the package takes it: at each numbered place that of the place behind it.
double score_of(const std::vector<int64_t>& labels, const std::vector<Tensor>& logits) {
  double sum = 0;
  int num_places = 0;
  for (size_t i = 0; i < logits.size() && labels[i] != kEos; ++i) {
    if (labels[i] == kPad || labels[i] == kSos || labels[i] == kSkip || labels[i] == kX) continue;
    sum += *std::max_element(logits[i].as<float>(), logits[i].as<float>() + num_elements(logits[i].shape()));
    ++num_places;
  }
  return sum / num_places;
}

std::vector<int64_t> range_without(int64_t last, const std::vector<int64_t>& missing) {
  std::vector<int64_t> numbers;
  for (int64_t n = 1; n <= last; ++n)
    if (std::find(missing.begin(), missing.end(), n) == missing.end()) numbers.push_back(n);
  return numbers;
}

struct Recorded {
  std::string model, chain;
  double score;  // as published, where it is
};

class AnarciiOf : public Anarcii, public testing::WithParamInterface<Recorded> {
 protected:
  void SetUp() override {
    if (!load(GetParam().model)) GTEST_SKIP() << folder_ << " has no models: tools/dev/models makes them";
    expected_ = read_recorded("anarcii/expected/" + GetParam().model + "_" + GetParam().chain + ".npz");
  }

  void expect_rows(const Tensor& wanted, float tolerance, const std::function<const float*(int64_t)>& row_at) {
    const Tensor& rows = expected_["rows"];
    const int64_t width = wanted.shape()[1];
    for (int64_t r = 0; r < wanted.shape()[0]; ++r)
      for (int64_t c = 0; c < width; ++c)
        ASSERT_NEAR(row_at(rows.as<int64_t>()[r])[c], wanted.as<float>()[r * width + c], tolerance) << "row " << r;
  }

  Tensors expected_;
};

TEST_P(AnarciiOf, StatesLabelsAndScoreAreThoseOfPyTorch) {
  const Decoded found = decode(expected_["source_ids"]);
  ASSERT_EQ(found.target[0], row_of(expected_["target_ids"]));
  expect_rows(expected_["encoder_states"], 1e-4f,
              [&](int64_t row) { return found.encoder_states.as<float>() + row * kWidth; });
  expect_rows(expected_["logits"], kLogitTolerance,
              [&](int64_t row) { return found.logits[static_cast<size_t>(row)].as<float>(); });
  EXPECT_NEAR(score_of(found.target[0], found.logits), expected_["score"].as<double>()[0], 2e-3);
  EXPECT_NEAR(score_of(found.target[0], found.logits), GetParam().score, 5e-3);
}

INSTANTIATE_TEST_SUITE_P(Recorded, AnarciiOf,
                         testing::Values(Recorded{"antibody", "trastuzumab_VH", 30.9162},
                                         Recorded{"antibody", "trastuzumab_VL", 30.6701},
                                         Recorded{"antibody", "ubiquitin", 13.28},  // below 15: no antibody
                                         Recorded{"antibody_speed", "trastuzumab_VH", 29.7696},
                                         Recorded{"antibody_speed", "trastuzumab_VL", 28.7472}),
                         [](const auto& each) { return each.param.model + "_" + each.param.chain; });

// Both chains in one batch, the shorter one padded: numbered as published, and as each alone.
TEST_F(Anarcii, ABatchOfBothChainsIsNumberedByImgt) {
  if (!load("antibody")) GTEST_SKIP() << folder_ << " has no models: tools/dev/models makes them";
  std::vector<std::vector<int64_t>> sources;
  for (const char* chain : {"VH", "VL"})
    sources.push_back(
        row_of(read_recorded("anarcii/expected/antibody_trastuzumab_" + std::string(chain) + ".npz")["source_ids"]));
  const Decoded found = decode(ids_of(sources));
  const std::vector<int64_t>&heavy = found.target[0], &light = found.target[1];
  EXPECT_EQ(heavy[1], kH);
  EXPECT_EQ(light[1], kK);
  EXPECT_EQ(numbers_of(heavy), range_without(128, {10, 31, 32, 33, 34, 60, 61, 73}));
  EXPECT_EQ(numbers_of(light),
            range_without(127, {30, 31, 32, 33, 34, 35, 58, 59, 60, 61, 62, 63, 64, 73, 81, 82, 110, 111, 112, 113}));
  // Cys 23, Trp 41, Cys 104 and Trp 118 (heavy) or Phe 118 (light) carry their numbers.
  for (size_t b = 0; b < sources.size(); ++b) {
    const std::vector<int64_t> numbers = numbers_of(found.target[b]);
    for (const auto& [number, residue] :
         {std::pair<int64_t, int64_t>{23, 5}, {41, 22}, {104, 5}, {118, b == 0 ? 22 : 8}}) {
      const auto place = std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
      EXPECT_EQ(sources[b][static_cast<size_t>(place) + 1], residue) << "IMGT " << number << ", chain " << b;
    }
  }
}

}  // namespace
}  // namespace plica
