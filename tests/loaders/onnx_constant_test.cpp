#include <gmock/gmock.h>

#include <cstring>

#include "loaders/onnx/constant_reader.h"
#include "runtime/core/dtype.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {
namespace {

using proto::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

// The module of a model whose one output is the tensor.
Result<Module> module_of(const TensorProto& tensor) {
  auto model = empty_model();
  *model.mutable_graph()->add_initializer() = tensor;
  add_output(*model.mutable_graph(), tensor.name());
  return read(model);
}

TensorProto typed(int type, std::vector<int64_t> dims) { return raw_tensor<char>("t", type, std::move(dims), {}); }

template <class T>
std::vector<T> elements(const Result<Module>& module) {
  EXPECT_TRUE(module) << to_string(module.error());
  if (!module) return {};
  const Constant& constant = module->constants.at(0);
  EXPECT_EQ(constant.problem, "");
  std::vector<T> out(static_cast<size_t>(num_elements(constant.type.shape)));
  std::memcpy(out.data(), constant.data, out.size() * sizeof(T));
  return out;
}

TEST(OnnxConstant, TypedFields) {
  auto tensor = typed(TensorProto::FLOAT, {2});
  tensor.clear_raw_data();
  tensor.add_float_data(1.5f);
  tensor.add_float_data(-2);
  EXPECT_THAT(elements<float>(module_of(tensor)), ElementsAre(1.5f, -2.0f));

  tensor = typed(TensorProto::FLOAT16, {2, 1});
  tensor.clear_raw_data();
  tensor.add_int32_data(0x3c00);
  tensor.add_int32_data(0xbc00);
  EXPECT_THAT(elements<uint16_t>(module_of(tensor)), ElementsAre(0x3c00, 0xbc00));
  tensor.set_data_type(TensorProto::INT8);
  tensor.set_int32_data(1, -3);
  tensor.set_int32_data(0, 100);
  EXPECT_THAT(elements<int8_t>(module_of(tensor)), ElementsAre(100, -3));
  tensor.set_data_type(TensorProto::BOOL);
  EXPECT_THAT(elements<char>(module_of(tensor)), ElementsAre(1, 1));

  tensor = typed(TensorProto::INT64, {});
  tensor.clear_raw_data();
  tensor.add_int64_data(int64_t{1} << 40);
  EXPECT_THAT(elements<int64_t>(module_of(tensor)), ElementsAre(int64_t{1} << 40));

  tensor = typed(TensorProto::UINT32, {1});
  tensor.clear_raw_data();
  tensor.add_uint64_data(4000000000u);
  EXPECT_THAT(elements<uint32_t>(module_of(tensor)), ElementsAre(4000000000u));

  tensor = typed(TensorProto::DOUBLE, {1});
  tensor.clear_raw_data();
  tensor.add_double_data(0.1);
  EXPECT_THAT(elements<double>(module_of(tensor)), ElementsAre(0.1));
}

TEST(OnnxConstant, RawBytesStayWhereTheyAreAlignedAndAreCopiedElsewhere) {
  int64_t in_place = 0, moved = 0;
  for (int pad = 0; pad < 8; ++pad) {
    auto model = empty_model();
    auto& graph = *model.mutable_graph();
    graph.set_name(std::string(static_cast<size_t>(pad), 'g'));
    *graph.add_initializer() = raw_tensor<float>("t", TensorProto::FLOAT, {3}, {1, 2, 3});
    add_output(graph, "t");
    const std::string bytes = model.SerializeAsString();
    const FileBytes file = *FileBytes::copy_of(std::as_bytes(std::span(bytes)));
    const auto module = read_module(file, "", {});
    EXPECT_THAT(elements<float>(module), ElementsAre(1, 2, 3));
    const auto* data = static_cast<const std::byte*>(module->constants[0].data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % sizeof(float), 0u);
    const bool inside = data >= file.bytes().data() && data < file.bytes().data() + file.bytes().size();
    ++(inside ? in_place : moved);
    EXPECT_EQ(module->bytes_mapped, 0);  // of memory, not of a mapped file
    EXPECT_EQ(module->bytes_copied, 12);
  }
  EXPECT_EQ(in_place, 2);
  EXPECT_EQ(moved, 6);
}

TEST(OnnxConstant, RawBoolsBecomeZeroOrOne) {
  EXPECT_THAT(elements<char>(module_of(raw_tensor<uint8_t>("t", TensorProto::BOOL, {3}, {0, 2, 255}))),
              ElementsAre(0, 1, 1));
}

TEST(OnnxConstant, EmptyTensors) {
  const auto module = module_of(raw_tensor<float>("t", TensorProto::FLOAT, {4, 0, int64_t{1} << 40}, {}));
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_NE(module->constants[0].data, nullptr);
}

TEST(OnnxConstant, OtherTypesAreAProblemOnlyOfTheirUser) {
  auto tensor = typed(TensorProto::STRING, {1});
  EXPECT_THAT(module_of(tensor)->constants[0].problem, HasSubstr("elements of type string"));
  tensor.set_data_type(TensorProto::INT4);
  EXPECT_THAT(module_of(tensor)->constants[0].problem, HasSubstr("elements of type int4"));
  tensor.set_data_type(99);
  EXPECT_THAT(module_of(tensor)->constants[0].problem, HasSubstr("elements of type element type 99"));
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.mutable_segment()->set_begin(0);
  EXPECT_THAT(module_of(tensor)->constants[0].problem, HasSubstr("segments"));

  auto model = empty_model();
  auto& sparse = *model.mutable_graph()->add_sparse_initializer();
  sparse.mutable_values()->set_name("t");
  add_output(*model.mutable_graph(), "t");
  EXPECT_THAT(read(model)->constants[0].problem, HasSubstr("sparse"));
}

TEST(OnnxConstant, RefusesDataThatDoesNotFit) {
  const auto error = [](const TensorProto& tensor) {
    const auto module = module_of(tensor);
    EXPECT_FALSE(module);
    EXPECT_EQ(module.error().code(), Code::kInvalidModel);
    EXPECT_THAT(module.error().what(), HasSubstr("while reading tensor 't'"));
    return module.error().what();
  };
  EXPECT_THAT(error(raw_tensor<float>("t", TensorProto::FLOAT, {3}, {1})),
              HasSubstr("has 4 bytes of data, its type f32 3 wants 12"));
  EXPECT_THAT(error(raw_tensor<float>("t", TensorProto::FLOAT, {-3}, {1})), HasSubstr("negative size"));
  EXPECT_THAT(error(raw_tensor<float>("t", TensorProto::FLOAT, {int64_t{1} << 40, int64_t{1} << 40}, {1})),
              HasSubstr("more bytes than can be addressed"));
  EXPECT_THAT(error(raw_tensor<float>("t", TensorProto::UNDEFINED, {1}, {1})), HasSubstr("no element type"));
  auto tensor = typed(TensorProto::FLOAT, {int64_t{1} << 50});
  tensor.clear_raw_data();
  EXPECT_THAT(error(tensor), HasSubstr("has 0 elements of data"));
}

TEST(OnnxConstant, ConstantNodesInTheirSpellings) {
  auto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_attribute(add_node(graph, "Constant", {}, {"a"}), "value_float", proto::AttributeProto::FLOAT).set_f(2.5f);
  auto& ints = add_attribute(add_node(graph, "Constant", {}, {"b"}), "value_ints", proto::AttributeProto::INTS);
  ints.add_ints(7);
  ints.add_ints(8);
  add_attribute(add_node(graph, "Constant", {}, {"c"}), "value_string", proto::AttributeProto::STRING).set_s("text");
  for (const char* name : {"a", "b", "c"}) add_output(graph, name);
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  ASSERT_EQ(module->constants.size(), 3u);
  EXPECT_EQ(to_string(module->constants[0].type), "f32 scalar");
  EXPECT_EQ(*static_cast<const float*>(module->constants[0].data), 2.5f);
  EXPECT_EQ(to_string(module->constants[1].type), "i64 2");
  EXPECT_EQ(module->constants[2].problem, "the tensor holds elements of type string");
  EXPECT_TRUE(module->main().nodes.empty());
}

}  // namespace
}  // namespace plica::onnx
