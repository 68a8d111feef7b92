#include "loaders/array/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::HasSubstr;

Tensor counting(Shape shape) {
  Tensor tensor = *Tensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < num_elements(tensor.shape()); ++i) tensor.as<float>()[i] = static_cast<float>(i);
  return tensor;
}

void write_two(const std::string& path, Packing packing) {
  auto writer = NpzWriter::create(path, packing);
  ASSERT_TRUE(writer) << to_string(writer.error());
  ASSERT_TRUE(writer->add("first/one", counting({300, 7}).view()));
  ASSERT_TRUE(writer->add_text("index.tsv", "id\tlength\n"));
  ASSERT_TRUE(writer->add("empty", counting({0, 3}).view()));
  ASSERT_TRUE(writer->commit());
}

TEST(Npz, StoredAndDeflatedArraysComeBack) {
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    TempFolder folder;
    write_two(folder / "x.npz", packing);
    auto arrays = read_npz(folder / "x.npz");
    ASSERT_TRUE(arrays) << to_string(arrays.error());
    ASSERT_EQ(arrays->size(), 2u);
    EXPECT_EQ((*arrays)[0].first, "first/one");
    EXPECT_EQ((*arrays)[0].second.as<float>()[2099], 2099);
    EXPECT_EQ((*arrays)[1].second.shape(), (Shape{0, 3}));
  }
}

TEST(Npz, ANameMayComeOnce) {
  TempFolder folder;
  auto writer = NpzWriter::create(folder / "x.npz");
  ASSERT_TRUE(writer->add("a", counting({1}).view()));
  EXPECT_FALSE(writer->add("a", counting({1}).view()));
  ASSERT_TRUE(write_npz(folder / "x.npz", {{"a", counting({1})}, {"b", counting({1})}}));
  std::string bytes = get_file(folder / "x.npz");
  for (size_t at = bytes.find("b.npy"); at != std::string::npos; at = bytes.find("b.npy")) bytes[at] = 'a';
  put_file(folder / "x.npz", bytes);
  EXPECT_THAT(read_npz(folder / "x.npz").error().what(), HasSubstr("has member 'a.npy' twice"));
}

TEST(Npz, AWrongByteIsFoundByItsChecksum) {
  TempFolder folder;
  ASSERT_TRUE(write_npz(folder / "x.npz", {{"a", counting({64})}}));
  std::string bytes = get_file(folder / "x.npz");
  bytes[200] ^= 1;
  put_file(folder / "x.npz", bytes);
  auto arrays = read_npz(folder / "x.npz");
  ASSERT_FALSE(arrays);
  EXPECT_THAT(arrays.error().what(), HasSubstr("checksum"));
  EXPECT_THAT(arrays.error().what(), HasSubstr("reading array 'a.npy'"));
}

TEST(Npz, MoreMembersThanFitTheOldDirectoryComeBack) {
  TempFolder folder;
  auto writer = ZipWriter::create(folder / "x.zip");
  for (int i = 0; i < 66000; ++i) ASSERT_TRUE(writer->add(std::to_string(i), "", "x"));
  ASSERT_TRUE(writer->commit());
  auto reader = ZipReader::open(folder / "x.zip");
  ASSERT_TRUE(reader) << to_string(reader.error());
  ASSERT_EQ(reader->members().size(), 66000u);
  EXPECT_EQ(reader->members().back().name, "65999");
}

TEST(Npz, DamagedArchivesNeverCrash) {
  TempFolder folder;
  for (const Packing packing : {Packing::kStored, Packing::kDeflated}) {
    write_two(folder / "x.npz", packing);
    const std::string whole = get_file(folder / "x.npz");
    for (size_t size = 0; size < whole.size(); size += 1 + size / 20) {
      put_file(folder / "y.npz", whole.substr(0, size));
      EXPECT_FALSE(read_npz(folder / "y.npz")) << size;
    }
    std::mt19937 random(2);
    for (int round = 0; round < 1000; ++round) {
      std::string bytes = whole;
      const size_t tail = round % 2 == 0 ? bytes.size() : 300;
      for (int i = 0; i < 3; ++i) bytes[bytes.size() - 1 - random() % tail] = static_cast<char>(random());
      put_file(folder / "y.npz", bytes);
      auto arrays = read_npz(folder / "y.npz");
      EXPECT_TRUE(arrays || arrays.error().code() != Code::kInternal);
    }
  }
}

TEST(Npz, WhatIsNoArchiveIsNamed) {
  TempFolder folder;
  put_file(folder / "x.npz", "hello");
  auto arrays = read_npz(folder / "x.npz");
  ASSERT_FALSE(arrays);
  EXPECT_THAT(arrays.error().what(), HasSubstr("no zip (npz) file"));
}

}  // namespace
}  // namespace plica
