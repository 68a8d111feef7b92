#include "models/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/core/dtype.h"
#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

GraphPorts bert_like(DType mask = DType::kI64) {
  return {{{"input_ids", DType::kI64, {-1, -1}}, {"attention_mask", mask, {-1, -1}}},
          {{"last_hidden_state", DType::kF32, {-1, -1, 8}}, {"logits", DType::kF32, {-1, -1, 99}}}};
}

std::string message_of(const GraphPorts& graph, const FamilyOptions& options) {
  auto family = choose_family(graph, options);
  return family ? "" : family.error().what();
}

TEST(Family, ANameIsTaken) {
  auto family = choose_family(bert_like(), {.family = "antiberty"});
  ASSERT_TRUE(family) << to_string(family.error());
  EXPECT_EQ(family->inputs[1].role, InputRole::kOneIsReal);
  EXPECT_EQ(family->output_name, "last_hidden_state");
  EXPECT_EQ(family->max_tokens, 512);
  EXPECT_TRUE(family->has_mask());
  EXPECT_THAT(family->guesses, IsEmpty());
}

TEST(Family, FilesBesideTheModelTellAlphabetAndPositions) {
  TempFolder folder;
  std::string vocabulary = "<cls>\n<pad>\n<eos>\n<unk>\n";
  for (const char letter : std::string("LAGVSERTIDPKQNFYMHWCXBUZO.-")) vocabulary += std::string(1, letter) + "\n";
  put_file(folder / "vocab.txt", vocabulary + "<null_1>\n<mask>\n");
  put_file(folder / "config.json",
           R"({"model_type": "esm", "position_embedding_type": "absolute", "max_position_embeddings": 40})");
  auto family = choose_family(bert_like(), {.model_path = folder / "model.onnx"});
  ASSERT_TRUE(family) << to_string(family.error());
  EXPECT_EQ(family->name, "esm2");
  EXPECT_EQ(family->max_tokens, 38);
  EXPECT_THAT(family->guesses, IsEmpty());
}

TEST(Family, GuessesAreSaid) {
  auto by_file = choose_family(bert_like(), {.model_path = "/models/Prot_BERT_bfd.onnx"});
  ASSERT_TRUE(by_file);
  EXPECT_EQ(by_file->name, "protbert");
  EXPECT_THAT(by_file->guesses, ElementsAre(HasSubstr("family protbert, by its file's name")));
  const GraphPorts fair{{{"tokens", DType::kI64, {-1, -1}}},
                        {{"representations_5", DType::kF32, {}}, {"representations_33", DType::kF32, {}}}};
  auto by_input = choose_family(fair, {.model_path = "model.onnx"});
  ASSERT_TRUE(by_input);
  EXPECT_EQ(by_input->output_name, "representations_33");
  EXPECT_FALSE(by_input->has_mask());
  EXPECT_THAT(by_input->guesses, ElementsAre(HasSubstr("by its input 'tokens'")));
  GraphPorts width = bert_like();
  width.outputs[1].shape[2] = 25;
  EXPECT_EQ(choose_family(width, {})->name, "antiberty");
}

TEST(Family, WhatCannotBeToldIsAskedFor) {
  EXPECT_THAT(message_of(bert_like(), {}), HasSubstr("give --family (esm2, esm1b, protbert, prott5, antiberty)"));
  EXPECT_THAT(message_of(bert_like(), {.family = "esm9"}), HasSubstr("family 'esm9' is not known"));
  EXPECT_THAT(message_of(bert_like(), {.alphabet = "no.txt"}), HasSubstr("neither an alphabet"));
  EXPECT_THAT(message_of({{{"msa", DType::kF32, {-1, -1, 8}}}, {}}, {}),
              HasSubstr("input 'msa' (f32 ?x?x8) is none that sequences can fill"));
  EXPECT_THAT(message_of(bert_like(), {.family = "esm2", .output = "x"}),
              HasSubstr("it has last_hidden_state, logits"));
  EXPECT_THAT(message_of(bert_like(), {.family = "esm2", .layer = 7}),
              HasSubstr("no output of the model is named for layer 7"));
}

TEST(Family, FixedSizesAreSeen) {
  GraphPorts graph = bert_like();
  graph.inputs[0].shape = {2, 64};
  auto family = choose_family(graph, {.family = "esm2"});
  ASSERT_TRUE(family);
  EXPECT_EQ(family->fixed_batch, 2);
  EXPECT_EQ(family->fixed_tokens, 64);
}

TEST(Family, ABatchIsPaddedAndMaskedAsTheModelWants) {
  auto family = choose_family(bert_like(DType::kF32), {.family = "esm2", .mask = InputRole::kAdditive});
  ASSERT_TRUE(family);
  const Encoding one = *family->alphabet.encode("MK", UnknownPolicy::kX);
  const Encoding two = *family->alphabet.encode("M", UnknownPolicy::kX);
  const Encoding* rows[] = {&one, &two};
  auto batch = make_batch(*family, rows, 2, 4);
  ASSERT_TRUE(batch);
  ASSERT_THAT(*batch, SizeIs(2));
  const int64_t* tokens = (*batch)[0].as<int64_t>();
  EXPECT_THAT(std::vector<int64_t>(tokens, tokens + 8), ElementsAre(0, 20, 15, 2, 0, 20, 2, 1));
  EXPECT_EQ((*batch)[1].as<float>()[6], 0);
  EXPECT_EQ((*batch)[1].as<float>()[7], -std::numeric_limits<float>::infinity());
}

TEST(Family, MasksComeInEveryType) {
  for (const DType dtype : {DType::kBool, DType::kI32, DType::kF16, DType::kBF16}) {
    auto family = choose_family(bert_like(dtype), {.family = "esm2", .mask = InputRole::kTrueIsPadding});
    ASSERT_TRUE(family);
    const Encoding one = *family->alphabet.encode("M", UnknownPolicy::kX);
    const Encoding* rows[] = {&one};
    auto batch = make_batch(*family, rows, 1, 4);
    ASSERT_TRUE(batch);
    const auto bytes = std::string((*batch)[1].as<char>(), (*batch)[1].num_bytes());
    EXPECT_EQ(bytes.find_first_not_of('\0') / size_of(dtype), 3u) << name_of(dtype);
  }
}

}  // namespace
}  // namespace plica
