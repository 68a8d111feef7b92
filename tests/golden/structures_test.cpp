// What PyTorch computes in fp64 for the small models of models/structures/recorded, as both exporters write them.

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

// In float32, relative to the largest value of an output where that is over 1.
constexpr float kTolerance = 1e-4f;

constexpr char kFolder[] = "structures/recorded/";

// The arrays whose names begin so, under the rest of their names.
Tensors with_prefix(const Tensors& arrays, const std::string& prefix) {
  Tensors found;
  for (const auto& [name, array] : arrays)
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = array;
  return found;
}

void expect_near(const Tensor& found, const Tensor& wanted, const std::string& place) {
  ASSERT_EQ(found.shape(), wanted.shape()) << place;
  const int64_t size = num_elements(wanted.shape());
  float largest = 1;
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(wanted.as<float>()[i]));
  for (int64_t i = 0; i < size; ++i)
    ASSERT_NEAR(found.as<float>()[i], wanted.as<float>()[i], kTolerance * largest) << place << ", element " << i;
}

class SmallModel : public testing::TestWithParam<std::string> {};

// The shape that the file was exported at, and another one.
TEST_P(SmallModel, ComputesWhatPyTorchDoesAtBothShapes) {
  const std::string name = GetParam().substr(0, GetParam().find('.'));
  const Tensors recorded = read_recorded(kFolder + name + ".npz");
  auto model = Model::load(PLICA_SOURCE_DIR "/models/" + (kFolder + GetParam()) + ".onnx", {.device = test_device()});
  ASSERT_TRUE(model) << to_string(model.error());
  auto session = model->session();
  ASSERT_TRUE(session) << to_string(session.error());
  for (const std::string set : {"0.", "1."}) {
    Tensors inputs = with_prefix(recorded, set);
    for (const auto& output : with_prefix(inputs, "output_")) inputs.erase("output_" + output.first);
    auto outputs = session->run(inputs);
    ASSERT_TRUE(outputs) << to_string(outputs.error());
    for (size_t i = 0; i < model->outputs().size(); ++i)
      expect_near(outputs->at(model->outputs()[i].name), recorded.at(set + "output_" + std::to_string(i)),
                  set + "output_" + std::to_string(i));
  }
}

std::vector<std::string> recorded_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PLICA_SOURCE_DIR "/models/" + std::string(kFolder)))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Structures, SmallModel, testing::ValuesIn(recorded_files()), [](const auto& each) {
  std::string name = each.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace plica
