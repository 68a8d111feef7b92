#include "loaders/tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Vocabulary, ReadsVocabTxtWithSpecialTokens) {
  TempFolder folder;
  put_file(folder / "vocab.txt", "<cls>\n<pad>\r\n<eos>\n<unk>\nL\n");
  put_file(folder / "special_tokens_map.json",
           R"({"cls_token": "<cls>", "eos_token": {"content": "<eos>"}, "pad_token": "<pad>"})");
  put_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer", "unk_token": "<unk>"})");
  auto read = read_vocabulary(folder.path());
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_TRUE(*read);
  const Vocabulary& vocabulary = **read;
  EXPECT_EQ(vocabulary.ids.at("<pad>"), 1);
  EXPECT_EQ(vocabulary.ids.at("L"), 4);
  EXPECT_EQ(vocabulary.eos, "<eos>");
  EXPECT_EQ(vocabulary.unk, "<unk>");
  EXPECT_EQ(vocabulary.tokenizer_class, "EsmTokenizer");
  EXPECT_EQ(vocabulary.files.size(), 3u);
}

TEST(Vocabulary, ReadsTheTablesOfTokenizerJson) {
  TempFolder folder;
  const auto ids = [&](const std::string& text) {
    put_file(folder / "tokenizer.json", text);
    auto read = read_vocabulary(folder.path());
    EXPECT_TRUE(read) << to_string(read.error());
    return (*read)->ids;
  };
  EXPECT_EQ(ids(R"({"model": {"type": "WordLevel", "vocab": {"A": 3, "C": 9}}})").at("C"), 9);
  EXPECT_EQ(ids(R"({"model": {"type": "Unigram", "vocab": [["<pad>", 0.0], ["_A", -1.5]]}})").at("_A"), 1);
  EXPECT_EQ(
      ids(R"({"model": {"type": "BPE", "vocab": {"A": 3}}, "added_tokens": [{"id": 7, "content": "<x>"}]})").at("<x>"),
      7);
}

TEST(Vocabulary, ReadsWhatStandsAroundASequence) {
  TempFolder folder;
  put_file(folder / "tokenizer.json", R"({"model": {"vocab": {"A": 3}}, "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<cls>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<eos>"}}]}})");
  auto read = read_tokenizer_json(folder / "tokenizer.json");
  ASSERT_TRUE(read);
  EXPECT_THAT(*read->prefix, ElementsAre("<cls>"));
  EXPECT_THAT(*read->suffix, ElementsAre("<eos>"));
}

TEST(Vocabulary, BrokenFilesAreNamed) {
  TempFolder folder;
  put_file(folder / "tokenizer.json", "{\"model\": {\"vocab\": {\"A\": \"three\"}}}");
  EXPECT_THAT(read_vocabulary(folder.path()).error().what(), HasSubstr("token 'A' an id that is no integer"));
  put_file(folder / "tokenizer.json", "{");
  EXPECT_THAT(read_vocabulary(folder.path()).error().what(), HasSubstr("is no JSON object"));
  put_file(folder / "tokenizer.json", "{}");
  EXPECT_THAT(read_vocabulary(folder.path()).error().what(), HasSubstr("has no model.vocab table"));
  put_file(folder / "vocab.txt", "A\nA\n");
  EXPECT_THAT(read_vocab_txt(folder / "vocab.txt").error().what(), HasSubstr("twice, the second time in line 2"));
}

TEST(Vocabulary, LinesEndInEveryWayBehindAByteOrderMark) {
  TempFolder folder;
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    put_file(folder / "vocab.txt", "\xef\xbb\xbf[PAD]" + end + "A" + end + end + "C" + end);
    const auto read = read_vocab_txt(folder / "vocab.txt");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->ids, (std::unordered_map<std::string, int64_t>{{"[PAD]", 0}, {"A", 1}, {"C", 3}}));
  }
  put_file(folder / "vocab.txt", std::string("\xff\xfe"
                                             "A\0",
                                             4));
  EXPECT_THAT(read_vocab_txt(folder / "vocab.txt").error().what(), HasSubstr("UTF-16"));
}

TEST(Vocabulary, AFolderWithoutATableHasNone) {
  TempFolder folder;
  auto read = read_vocabulary(folder.path());
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read);
}

}  // namespace
}  // namespace plica
