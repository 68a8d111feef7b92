#include "loaders/fasta/fasta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::vector<FastaItem> read_all(const std::string& path) {
  auto reader = FastaReader::open(path);
  EXPECT_TRUE(reader) << to_string(reader.error());
  std::vector<FastaItem> items;
  for (;;) {
    auto item = reader->next();
    EXPECT_TRUE(item) << to_string(item.error());
    if (!item || !*item) return items;
    items.push_back(*std::move(*item));
  }
}

std::vector<FastaItem> read_text(const std::string& text) {
  TempFolder folder;
  put_file(folder / "in.fasta", text);
  return read_all(folder / "in.fasta");
}

std::string gzip(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(Fasta, ReadsWrappedRecordsWithCarriageReturnsCommentsAndBlankLines) {
  const auto items =
      read_text("\xef\xbb\xbf; made by hand\r\n\r\n>sp|P1|A  first one \r\nMKT\r\n;note\r\n\r\nAY L\r\n>b\nGG");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_FALSE(items[0].error);
  EXPECT_EQ(items[0].record.id, "sp|P1|A");
  EXPECT_EQ(items[0].record.description, "first one");
  EXPECT_EQ(items[0].record.sequence, "MKTAYL");
  EXPECT_EQ(items[0].record.line, 3);
  EXPECT_EQ(items[1].record.sequence, "GG");
  EXPECT_EQ(items[1].record.line, 8);
}

TEST(Fasta, BadRecordsAreNamedAndTheOthersRead) {
  const auto items = read_text("MKT\n>empty\n>good\nMK\n>\nAA\n>good\nGG\n>odd\nM\xc3\xa9K\n>last\nW\n>header_only");
  ASSERT_EQ(items.size(), 8u);
  const auto what = [&](size_t i) { return items[i].error ? items[i].error->what() : std::string(); };
  EXPECT_THAT(what(0), StartsWith("starts without a header"));
  EXPECT_EQ(what(1), "has no sequence");
  EXPECT_EQ(items[1].record.id, "empty");
  EXPECT_EQ(items[1].record.line, 2);
  EXPECT_EQ(what(2), "");
  EXPECT_THAT(what(3), HasSubstr("has no id"));
  EXPECT_THAT(what(4), HasSubstr("line 3 already has"));
  EXPECT_THAT(what(5), HasSubstr("byte 0xc3 in line 10"));
  EXPECT_EQ(what(6), "");
  EXPECT_THAT(what(7), StartsWith("has no sequence"));
}

TEST(Fasta, KeepsLongIdsAndLongLines) {
  const std::string id(300, 'i');
  const std::string sequence(200000, 'A');
  const auto items = read_text(">" + id + "\n" + sequence + "\n");
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].record.id, id);
  EXPECT_EQ(items[0].record.sequence, sequence);
}

TEST(Fasta, AnEmptyFileHasNoRecords) {
  EXPECT_TRUE(read_text("").empty());
  EXPECT_TRUE(read_text("\n\n;x\n").empty());
}

TEST(Fasta, ReadsGzipOfSeveralMembers) {
  TempFolder folder;
  put_file(folder / "in.fasta", gzip(">a\nMK") + gzip("T\n>b\nGG\n"));
  const auto items = read_all(folder / "in.fasta");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].record.sequence, "MKT");
  EXPECT_EQ(items[1].record.sequence, "GG");
}

TEST(Fasta, TruncatedGzipIsAnError) {
  TempFolder folder;
  const std::string packed = gzip(">a\n" + std::string(5000, 'M') + "\n");
  put_file(folder / "in.fasta.gz", packed.substr(0, packed.size() - 9));
  auto reader = FastaReader::open(folder / "in.fasta.gz");
  ASSERT_TRUE(reader);
  auto item = reader->next();
  ASSERT_FALSE(item);
  EXPECT_THAT(item.error().what(), HasSubstr("truncated"));
}

TEST(Fasta, BinaryDataIsRefused) {
  TempFolder folder;
  put_file(folder / "model.onnx", std::string("\x08\x07\0\0>a\nMK", 10));
  auto reader = FastaReader::open(folder / "model.onnx");
  ASSERT_TRUE(reader);
  auto item = reader->next();
  ASSERT_FALSE(item);
  EXPECT_THAT(item.error().what(), HasSubstr("is no FASTA file"));
}

TEST(Fasta, LinesMayEndByReturnsAlone) {
  const auto items = read_text(">a  first\rMKT\rAY\r\r>b\rGG");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_FALSE(items[0].error || items[1].error);
  EXPECT_EQ(items[0].record.description, "first");
  EXPECT_EQ(items[0].record.sequence, "MKTAY");
  EXPECT_EQ(items[1].record.line, 5);
  EXPECT_EQ(items[1].record.sequence, "GG");
}

// Wherever a buffer of the reader ends.
TEST(Fasta, AReturnAndALineFeedAreOneEnd) {
  for (size_t length = 65530; length < 65540; ++length) {
    const auto items = read_text(">" + std::string(length - 1, 'i') + "\r\nMK\r\n>b\r\nGG\r\n");
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].record.sequence, "MK");
    EXPECT_EQ(items[1].record.line, 3);
  }
}

TEST(Fasta, TextInUtf16IsNamed) {
  TempFolder folder;
  for (const std::string& text : {std::string("\xff\xfe>\0a\0\n\0M\0", 10), std::string("\xfe\xff\0>\0a\0\n\0M", 10)}) {
    put_file(folder / "in.fasta", text);
    auto reader = FastaReader::open(folder / "in.fasta");
    ASSERT_TRUE(reader);
    EXPECT_THAT(reader->next().error().what(), HasSubstr("found text in UTF-16, wanted ASCII or UTF-8"));
  }
}

TEST(Fasta, AMissingFileIsNamed) {
  auto reader = FastaReader::open("/nowhere/in.fasta");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code(), Code::kInvalidInput);
  EXPECT_THAT(reader.error().what(), HasSubstr("'/nowhere/in.fasta'"));
  EXPECT_FALSE(FastaReader::open("/tmp") && FastaReader::open("/tmp")->next());
}

}  // namespace
}  // namespace plica
