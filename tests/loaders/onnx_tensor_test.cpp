#include <gmock/gmock.h>

#include <cstring>

#include "loaders/onnx/element_type.h"
#include "loaders/onnx/tensor_proto.h"
#include "tests/harness/onnx_model.h"
#include "tests/harness/temp_folder.h"

namespace plica::onnx {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

TEST(OnnxTensor, WhatIsWrittenReadsBack) {
  const TempFolder folder;
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 4}, Shape{100, 70}}) {
    Tensor tensor = *Tensor::zeros(DType::kI16, shape);
    for (int64_t i = 0; i < num_elements(shape); ++i) tensor.as<int16_t>()[i] = static_cast<int16_t>(i);
    ASSERT_TRUE(write_tensor_file(folder / "t.pb", "name", tensor.view()));
    const auto read = read_tensor_file(folder / "t.pb");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->name, "name");
    EXPECT_EQ(read->tensor.type(), tensor.type());
    EXPECT_EQ(std::memcmp(read->tensor.data(), tensor.data(), tensor.num_bytes()), 0);
  }
}

TEST(OnnxTensor, StridedViewsAreWrittenDense) {
  const TempFolder folder;
  float data[] = {0, 1, 2, 3, 4, 5};
  ASSERT_TRUE(write_tensor_file(folder / "t.pb", "", {{DType::kF32, {3, 2}, {1, 3}}, data}));
  const auto read = read_tensor_file(folder / "t.pb");
  ASSERT_TRUE(read);
  EXPECT_THAT(std::vector<float>(read->tensor.as<float>(), read->tensor.as<float>() + 6),
              ElementsAreArray({0, 3, 1, 4, 2, 5}));
}

TEST(OnnxTensor, RefusesWhatIsNoTensor) {
  const TempFolder folder;
  const std::string path = folder / "t.pb";
  EXPECT_EQ(read_tensor_file(path).error().code(), Code::kInvalidInput);
  put_file(path, "no tensor");
  EXPECT_EQ(read_tensor_file(path).error().code(), Code::kInvalidInput);
  put_file(path, raw_tensor<float>("t", proto::TensorProto::FLOAT, {9}, {1}).SerializeAsString());
  EXPECT_EQ(read_tensor_file(path).error().code(), Code::kInvalidInput);
  EXPECT_THAT(read_tensor_file(path).error().what(), HasSubstr("while reading '" + path + "'"));
  put_file(path, raw_tensor<char>("t", proto::TensorProto::STRING, {1}, {}).SerializeAsString());
  EXPECT_EQ(read_tensor_file(path).error().code(), Code::kUnsupported);
  EXPECT_EQ(write_tensor_file(folder / "no/t.pb", "", {{DType::kF32, {0}, {}}, nullptr}).error().code(),
            Code::kInvalidInput);
}

TEST(OnnxTensor, ElementTypesNameTheirDType) {
  for (int type = 0; type < 40; ++type) {
    const auto dtype = dtype_of(type);
    if (dtype) {
      EXPECT_EQ(element_type_of(*dtype), type);
    }
  }
  EXPECT_EQ(dtype_of(proto::TensorProto::BFLOAT16), DType::kBF16);
  EXPECT_EQ(dtype_of(-1), std::nullopt);
  EXPECT_EQ(name_of_element_type(proto::TensorProto::FLOAT8E5M2), "float8e5m2");
}

}  // namespace
}  // namespace plica::onnx
