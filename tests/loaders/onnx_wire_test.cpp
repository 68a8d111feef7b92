#include <gmock/gmock.h>

#include "loaders/onnx/wire.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {
namespace {

using testing::HasSubstr;

Result<Skeleton> skeleton_of(const std::string& bytes, Message type = Message::kModel) {
  return read_skeleton(std::as_bytes(std::span(bytes)), type);
}

TEST(OnnxWire, LeavesRawBytesInTheFile) {
  auto proto = rich_model();
  *proto.mutable_graph()->add_initializer() =
      raw_tensor<float>("big", proto::TensorProto::FLOAT, {100000}, std::vector<float>(100000, 3.0f));
  const std::string bytes = proto.SerializeAsString();
  const auto skeleton = skeleton_of(bytes);
  ASSERT_TRUE(skeleton) << skeleton.error().what();
  EXPECT_LT(skeleton->message.size(), 700u);
  EXPECT_EQ(skeleton->raw.size(), 4u);  // two initializers, the large one, the constant of the function
  proto::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(skeleton->message));
  const auto raw = raw_bytes(*skeleton, parsed.graph().initializer(2).raw_data());
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->length, 400000u);
  EXPECT_EQ(bytes.compare(raw->offset, raw->length, proto.graph().initializer(2).raw_data()), 0);
  EXPECT_EQ(parsed.functions(0).node(1).op_type(), "Mul");
  EXPECT_EQ(parsed.graph().node(0).metadata_props_size(), 0);
  EXPECT_FALSE(parsed.has_doc_string());
}

TEST(OnnxWire, FindsTensorsInEveryPlace) {
  proto::ModelProto model = empty_model();
  const auto tensor = raw_tensor<float>("", proto::TensorProto::FLOAT, {1}, {1});
  auto& graph = *model.mutable_graph();
  auto& sparse = *graph.add_sparse_initializer();
  *sparse.mutable_values() = tensor;
  *sparse.mutable_indices() = tensor;
  auto& attribute = add_attribute(add_node(graph, "Op", {}, {}), "a", proto::AttributeProto::GRAPHS);
  *attribute.add_tensors() = tensor;
  *attribute.mutable_sparse_tensor()->mutable_values() = tensor;
  *attribute.add_sparse_tensors()->mutable_indices() = tensor;
  *attribute.add_graphs()->add_initializer() = tensor;
  *model.add_functions()->add_attribute_proto()->mutable_t() = tensor;
  const auto skeleton = skeleton_of(model.SerializeAsString());
  ASSERT_TRUE(skeleton);
  EXPECT_EQ(skeleton->raw.size(), 7u);
}

TEST(OnnxWire, NamesThePlaceOfWhatIsBroken) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string("\x3a\x7f\x08", 3), "byte 2 of the file: a field of 127 bytes, but the file ends after 1"},
      {std::string("\x3a\x03\x0a\x05\x0a", 5), "byte 4 of the file: a field of 5 bytes, but the file ends after 1"},
      {std::string("\x08\x80", 2), "byte 1 of the file: a number runs over the end"},
      {std::string("\x08") + std::string(10, '\xff'), "byte 1 of the file: a number has more than 64 bits"},
      {std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), "a field of 18446744073709551615 bytes"},
      {std::string("\x0b", 1), "byte 0 of the file: wire type 3"},
      {std::string("\x00", 1), "byte 0 of the file: no field can have this number"},
      {std::string("\x09\x01", 2), "byte 1 of the file: a number of 8 bytes"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto skeleton = skeleton_of(bytes);
    ASSERT_FALSE(skeleton);
    EXPECT_EQ(skeleton.error().code(), Code::kInvalidModel);
    EXPECT_THAT(skeleton.error().what(), HasSubstr(message));
  }
}

TEST(OnnxWire, RefusesDeepNesting) {
  proto::GraphProto graph;
  graph.set_name("innermost");
  for (int i = 0; i < 60; ++i) {
    proto::GraphProto outer;
    outer.add_node()->add_attribute()->mutable_g()->Swap(&graph);
    graph.Swap(&outer);
  }
  proto::ModelProto model = empty_model();
  model.mutable_graph()->Swap(&graph);
  const auto skeleton = skeleton_of(model.SerializeAsString());
  ASSERT_FALSE(skeleton);
  EXPECT_THAT(skeleton.error().what(), HasSubstr("messages nest deeper than 90"));
}

TEST(OnnxWire, RefusesAnIndexThatTheWalkDidNotWrite) {
  EXPECT_EQ(raw_bytes({"", {}}, std::string("\0\0\0\0", 4)).error().code(), Code::kInvalidModel);
  EXPECT_EQ(raw_bytes({"", {{0, 1}}}, "toolong").error().code(), Code::kInvalidModel);
}

}  // namespace
}  // namespace plica::onnx
