#include <gmock/gmock.h>

#include <random>

#include "tests/harness/onnx_model.h"
#include "tests/harness/temp_folder.h"

namespace plica::onnx {
namespace {

// A broken file is an error with a message, never a crash; what still reads must be sound.
void expect_sound(const Result<Module>& module) {
  if (!module) {
    EXPECT_FALSE(module.error().what().empty());
    EXPECT_NE(module.error().code(), Code::kInternal);
    return;
  }
  for (const Constant& constant : module->constants) {
    if (!constant.problem.empty()) continue;
    const auto* bytes = static_cast<const unsigned char*>(constant.data);
    unsigned sum = 0;
    const auto size = static_cast<size_t>(num_elements(constant.type.shape)) * size_of(constant.type.dtype);
    for (size_t i = 0; i < size; ++i) sum += bytes[i];
    EXPECT_GE(sum, 0u);
  }
  const auto num_values = static_cast<ValueId>(module->values.size());
  for (const Body& body : module->bodies)
    for (const Node& node : body.nodes)
      for (ValueId input : node.inputs) EXPECT_TRUE(input >= kNoValue && input < num_values);
}

TEST(OnnxMalformed, EveryTruncationIsAnError) {
  auto model = rich_model();

  const std::string bytes = model.SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto module = read_bytes(bytes.substr(0, size));
    expect_sound(module);
    EXPECT_FALSE(module && module->main().nodes.size() == 3)
        << size << " of " << bytes.size() << " bytes read as the whole";
  }
}

TEST(OnnxMalformed, TruncatedFilesNameTheFileAndThePlace) {
  const TempFolder folder;
  const std::string bytes = rich_model().SerializeAsString();
  put_file(folder / "m.onnx", bytes.substr(0, bytes.size() - 9));
  for (const bool map : {true, false}) {
    const auto module = read_module(folder / "m.onnx", {.map_files = map});
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code(), Code::kInvalidModel);
    EXPECT_THAT(module.error().what(), testing::HasSubstr("byte "));
    EXPECT_THAT(module.error().what(), testing::HasSubstr("while reading model '" + folder / "m.onnx" + "'"));
  }
  put_file(folder / "empty.onnx", "");
  EXPECT_EQ(read_module(folder / "empty.onnx").error().code(), Code::kInvalidModel);
}

TEST(OnnxMalformed, FilesOfOtherKindsAreNamed) {
  TempFolder folder;
  for (const auto& [text, what] :
       {std::pair{"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a pointer of Git LFS; `git lfs pull`"},
        std::pair{"\x1f\x8b\x08", "compressed by gzip"},
        std::pair{"PK\x03\x04", "a zip archive, such as PyTorch saves"},
        std::pair{"<!DOCTYPE html>", "a page of HTML or XML"}}) {
    put_file(folder / "m.onnx", text);
    const auto module = read_module(folder / "m.onnx");
    ASSERT_FALSE(module);
    EXPECT_THAT(module.error().what(), testing::HasSubstr("the file is no ONNX model: it is " + std::string(what)));
  }
}

TEST(OnnxMalformed, FlippedBytes) {
  std::mt19937 random(7);
  const std::string bytes = rich_model().SerializeAsString();
  for (int round = 0; round < 20000; ++round) {
    std::string broken = bytes;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
      broken[random() % broken.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    expect_sound(read_bytes(broken));
  }
}

TEST(OnnxMalformed, PiecesPutTogetherWrongly) {
  std::mt19937 random(11);
  const std::string bytes = rich_model().SerializeAsString();
  for (int round = 0; round < 5000; ++round) {
    std::string broken = bytes;
    const size_t from = random() % bytes.size(), length = random() % 64;
    broken.insert(random() % bytes.size(), bytes.substr(from, length));
    broken.erase(random() % broken.size(), random() % 64);
    expect_sound(read_bytes(broken));
  }
}

TEST(OnnxMalformed, RandomBytes) {
  std::mt19937 random(13);
  for (int round = 0; round < 5000; ++round) {
    std::string noise(random() % 200, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    const auto module = read_bytes(noise);
    EXPECT_FALSE(module);
    expect_sound(module);
  }
}

}  // namespace
}  // namespace plica::onnx
