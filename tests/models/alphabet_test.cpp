#include "models/alphabet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> ids_of(const char* alphabet, std::string_view sequence, UnknownPolicy policy = UnknownPolicy::kX) {
  auto encoding = find_alphabet(alphabet)->encode(sequence, policy);
  EXPECT_TRUE(encoding) << to_string(encoding.error());
  return encoding ? encoding->ids : std::vector<int64_t>();
}

TEST(Alphabet, TablesGiveThePublishedIds) {
  EXPECT_THAT(ids_of("esm2", "MEEPQSDPSV"), ElementsAre(0, 20, 9, 9, 14, 16, 8, 13, 14, 8, 7, 2));
  EXPECT_THAT(ids_of("esm1b", "XBUZO.-"), ElementsAre(0, 24, 25, 26, 27, 28, 29, 30, 2));
  EXPECT_THAT(ids_of("protbert", "LWXUZOB"), ElementsAre(2, 5, 24, 25, 25, 25, 25, 25, 3));
  EXPECT_THAT(ids_of("prott5", "ALGWXU"), ElementsAre(3, 4, 5, 21, 23, 23, 1));
  EXPECT_THAT(ids_of("antiberty", "ACYX_"), ElementsAre(2, 5, 6, 24, 1, 4, 3));
}

TEST(Alphabet, EveryStandardResidueHasATokenOfItsOwn) {
  for (const std::string& name : alphabet_names()) {
    auto encoding = find_alphabet(name)->encode("ACDEFGHIKLMNPQRSTVWY", UnknownPolicy::kError);
    ASSERT_TRUE(encoding) << name;
    const auto first = encoding->ids.begin() + encoding->first_residue;
    const std::set<int64_t> distinct(first, first + encoding->num_residues);
    EXPECT_EQ(distinct.size(), 20u) << name;
  }
}

TEST(Alphabet, OneTokenACharacter) {
  const Alphabet esm2 = *find_alphabet("esm2");
  auto encoding = esm2.encode("mk<mask>J1*A*", UnknownPolicy::kX);
  ASSERT_TRUE(encoding);
  EXPECT_THAT(encoding->ids, ElementsAre(0, 20, 15, 32, 24, 24, 24, 5, 2));
  EXPECT_EQ(encoding->num_residues, 7);
  EXPECT_EQ(encoding->num_unknown, 3);
  EXPECT_EQ(encoding->first_residue, 1);
  EXPECT_THAT(ids_of("protbert", "A[MASK]C"), ElementsAre(2, 6, 4, 23, 3));
}

TEST(Alphabet, UnknownLettersFollowThePolicy) {
  EXPECT_THAT(ids_of("esm2", "MJ", UnknownPolicy::kUnk), ElementsAre(0, 20, 3, 2));
  auto refused = find_alphabet("esm2")->encode("MKJ", UnknownPolicy::kError);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what(), HasSubstr("position 3 holds 'J', which is no letter of the alphabet esm2"));
  EXPECT_FALSE(find_alphabet("prott5")->encode("M\xc3", UnknownPolicy::kError));
}

TEST(Alphabet, AnEmptySequenceHasNoResidues) {
  auto encoding = find_alphabet("esm2")->encode("*", UnknownPolicy::kX);
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->num_residues, 0);
}

TEST(Alphabet, KnownFilesGetTheKnownConventions) {
  TempFolder folder;
  put_file(folder / "vocab.txt",
           "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]"
           "\nL\nA\nG\nV\nE\nS\nI\nK\nR\nD\nT\nP\nN\nQ\nF\nY\nM\nH\nC\nW\nX\nU\nB\nZ\nO\n");
  auto alphabet = alphabet_of(*read_vocab_txt(folder / "vocab.txt"));
  ASSERT_TRUE(alphabet) << to_string(alphabet.error());
  EXPECT_EQ(alphabet->name, "protbert");
  EXPECT_THAT(alphabet->encode("U", UnknownPolicy::kError)->ids, ElementsAre(2, 25, 3));
}

TEST(Alphabet, OtherFilesAreTakenAsTheyAre) {
  Vocabulary vocabulary;
  vocabulary.files = {"vocab.txt"};
  int64_t id = 0;
  for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) vocabulary.ids[token] = id++;
  for (char letter = 'A'; letter <= 'Z'; ++letter) vocabulary.ids["\xe2\x96\x81" + std::string(1, letter)] = id++;
  vocabulary.prefix = {"<s>"};
  vocabulary.suffix = {"</s>"};
  auto alphabet = alphabet_of(vocabulary);
  ASSERT_TRUE(alphabet) << to_string(alphabet.error());
  EXPECT_THAT(alphabet->encode("aC", UnknownPolicy::kX)->ids, ElementsAre(0, 4, 6, 2));
  EXPECT_EQ(alphabet->pad, 1);
  EXPECT_EQ(alphabet->size, 30);
}

TEST(Alphabet, AFileWithoutResiduesIsRefused) {
  Vocabulary vocabulary;
  vocabulary.files = {"vocab.txt"};
  vocabulary.ids = {{"<pad>", 0}, {"the", 1}, {"A", 2}};
  EXPECT_THAT(alphabet_of(vocabulary).error().what(), HasSubstr("tokens for 1 capital letters"));
}

}  // namespace
}  // namespace plica
