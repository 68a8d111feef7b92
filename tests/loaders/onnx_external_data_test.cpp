#include <gmock/gmock.h>
#include <sys/stat.h>

#include "loaders/onnx/external_data.h"
#include "tests/harness/onnx_model.h"
#include "tests/harness/temp_folder.h"

namespace plica::onnx {
namespace {

using testing::HasSubstr;

using Entries = std::vector<std::pair<std::string, std::string>>;

// Three floats that the entries place.
proto::ModelProto model_with(const Entries& entries) {
  auto model = empty_model();
  auto tensor = raw_tensor<float>("weight", proto::TensorProto::FLOAT, {3}, {});
  tensor.clear_raw_data();
  tensor.set_data_location(proto::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  *model.mutable_graph()->add_initializer() = tensor;
  add_output(*model.mutable_graph(), "weight");
  return model;
}

class OnnxExternalData : public testing::Test {
 protected:
  OnnxExternalData() {
    std::filesystem::create_directory(folder_ / "model");
    const float elements[] = {0, 1, 2, 3};
    put_file(folder_ / "model/w.bin", std::string(reinterpret_cast<const char*>(elements), sizeof elements));
    std::filesystem::copy(folder_ / "model/w.bin", folder_ / "outside.bin");
  }

  Result<Module> load(const Entries& entries, ReadOptions options = {}) {
    put_file(folder_ / "model/m.onnx", model_with(entries).SerializeAsString());
    return read_module(folder_ / "model/m.onnx", options);
  }

  void refused(const Entries& entries, const char* message) {
    const auto module = load(entries);
    ASSERT_FALSE(module) << message;
    EXPECT_EQ(module.error().code(), Code::kInvalidModel);
    EXPECT_THAT(module.error().what(), HasSubstr(message));
    EXPECT_THAT(module.error().what(), HasSubstr("while reading tensor 'weight'"));
    EXPECT_THAT(module.error().what(), HasSubstr("m.onnx'"));
  }

  TempFolder folder_;
};

TEST_F(OnnxExternalData, StaysMapped) {
  const auto module = load({{"location", "w.bin"}, {"offset", "4"}, {"length", "12"}});
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->bytes_mapped, 12);
  EXPECT_EQ(module->bytes_copied, 0);
  EXPECT_EQ(static_cast<const float*>(module->constants[0].data)[2], 3.0f);
}

TEST_F(OnnxExternalData, IsReadWhereFilesAreNotMapped) {
  const auto module = load({{"location", "./w.bin"}}, {.map_files = false});
  ASSERT_FALSE(module && module->bytes_mapped > 0);
  const auto exact = load({{"location", "w.bin"}, {"length", "12"}}, {.map_files = false});
  ASSERT_TRUE(exact) << to_string(exact.error());
  EXPECT_EQ(exact->bytes_copied, 12);
}

TEST_F(OnnxExternalData, MisalignedIsCopied) {
  const auto module = load({{"location", "w.bin"}, {"offset", "2"}, {"length", "12"}});
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->bytes_copied, 12);
}

TEST_F(OnnxExternalData, RefusesRegionsOutsideTheFile) {
  refused({{"location", "w.bin"}, {"offset", "8"}, {"length", "12"}},
          "'w.bin' of 16 bytes: the tensor has 12 bytes from byte 8, the file ends after 8");
  refused({{"location", "w.bin"}, {"offset", "99"}}, "the tensor begins at byte 99");
  refused({{"location", "w.bin"}, {"offset", "18446744073709551612"}, {"length", "12"}},
          "the tensor begins at byte 1844");
  refused({{"location", "w.bin"}, {"offset", "4"}, {"length", "18446744073709551615"}}, "the file ends after 12");
  refused({{"location", "w.bin"}, {"length", "8"}}, "the tensor has 8 bytes there, its shape wants 12");
  refused({{"location", "w.bin"}, {"length", "16"}}, "the tensor has 16 bytes there, its shape wants 12");
  refused({{"location", "w.bin"}, {"offset", "-4"}}, "the external offset is '-4', wanted a number");
  refused({{"location", "w.bin"}, {"length", "12x"}}, "the external length is '12x', wanted a number");
  refused({{"offset", "4"}}, "no file is named");
}

TEST_F(OnnxExternalData, RefusesToLeaveTheFolder) {
  refused({{"location", "../outside.bin"}}, "'../outside.bin' leaves the model's folder");
  refused({{"location", "sub/../../outside.bin"}}, "leaves the model's folder");
  refused({{"location", folder_ / "outside.bin"}}, "has an absolute path");
  refused({{"location", std::string("w.bin\0x", 7)}}, "has a zero byte");
  std::filesystem::create_symlink(folder_ / "outside.bin", folder_ / "model/link.bin");
  refused({{"location", "link.bin"}}, "is a link out of the model's folder");
  std::filesystem::create_directory_symlink(folder_.path(), folder_ / "model/up");
  refused({{"location", "up/outside.bin"}}, "is a link out of the model's folder");
  std::filesystem::create_directory_symlink("model", folder_ / "model2");
  refused({{"location", "../model2/w.bin"}}, "leaves the model's folder");
}

TEST_F(OnnxExternalData, RefusesWhatIsNoFile) {
  refused({{"location", "none.bin"}}, "'none.bin' cannot be opened: No such file");
  refused({{"location", "."}}, "it is a folder");
  ::mkfifo((folder_ / "model/pipe").c_str(), 0600);
  refused({{"location", "pipe"}}, "it is not a regular file");
  EXPECT_THAT(read(model_with({{"location", "w.bin"}})).error().what(), HasSubstr("a model that comes from no file"));
}

// As download caches have it: links to a model and its data that lie elsewhere, in one folder.
TEST_F(OnnxExternalData, AcceptsAFolderOfLinksToOneFolder) {
  ASSERT_TRUE(load({{"location", "w.bin"}, {"length", "12"}}));
  std::filesystem::create_directory(folder_ / "links");
  std::filesystem::create_symlink("../model/m.onnx", folder_ / "links/m.onnx");
  std::filesystem::create_symlink("../model/w.bin", folder_ / "links/w.bin");
  const auto module = read_module(folder_ / "links/m.onnx");
  EXPECT_TRUE(module) << to_string(module.error());
}

}  // namespace
}  // namespace plica::onnx
