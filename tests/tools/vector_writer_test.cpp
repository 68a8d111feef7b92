#include "tools/vector_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::HasSubstr;

EmbeddedRecord record(const std::string& id, float first) {
  EmbeddedRecord out;
  out.id = id;
  out.line = 1;
  out.num_residues = 5;
  out.vectors = {{first, 2}};
  return out;
}

EmbeddedRecord failed(const std::string& id) {
  EmbeddedRecord out;
  out.id = id;
  out.line = 7;
  out.failed = "has\tno residues";
  return out;
}

TEST(VectorWriter, MatrixIndexAndFailures) {
  TempFolder folder;
  auto writer = VectorWriter::create({folder / "v.npy", {Pooling::kMean}, false});
  ASSERT_TRUE(writer) << to_string(writer.error());
  ASSERT_TRUE(writer->add(record("a", 1)));
  ASSERT_TRUE(writer->add(failed("b")));
  ASSERT_TRUE(writer->add(record("c", 3)));
  EXPECT_FALSE(std::filesystem::exists(folder / "v.npy"));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(get_file(folder / "index.tsv"), "id\tlength\trow\tstatus\na\t5\t0\tok\nb\t0\t-\tfailed\nc\t5\t1\tok\n");
  EXPECT_EQ(get_file(folder / "failed.tsv"), "id\tline\treason\nb\t7\thas no residues\n");
  auto matrix = read_npy(folder / "v.npy");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(matrix->shape(), (Shape{2, 2}));
  EXPECT_EQ(matrix->as<float>()[2], 3);
}

TEST(VectorWriter, SeveralPoolingsAreSeveralMatrices) {
  TempFolder folder;
  auto writer = VectorWriter::create({folder / "v.npy", {Pooling::kMean, Pooling::kMax}, false});
  EmbeddedRecord two = record("a", 1);
  two.vectors.push_back({8, 9});
  ASSERT_TRUE(writer->add(two));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(read_npy(folder / "v.max.npy")->as<float>()[1], 9);
  EXPECT_TRUE(std::filesystem::exists(folder / "v.mean.npy"));
  EXPECT_FALSE(std::filesystem::exists(folder / "failed.tsv"));
}

TEST(VectorWriter, ArraysStandUnderTheirIds) {
  TempFolder folder;
  auto writer = VectorWriter::create({folder / "v.npz", {Pooling::kMean}, true});
  EmbeddedRecord both = record("sp|P1/../x", 1);
  both.residues = *Tensor::zeros(DType::kF32, {5, 2});
  ASSERT_TRUE(writer->add(both));
  ASSERT_TRUE(writer->commit());
  auto arrays = read_npz(folder / "v.npz");
  ASSERT_TRUE(arrays) << to_string(arrays.error());
  EXPECT_EQ((*arrays)[0].first, "sp|P1%2F..%2Fx/mean");
  EXPECT_EQ((*arrays)[1].first, "sp|P1%2F..%2Fx/residues");
  EXPECT_EQ(folder.num_files(), 1u);
}

TEST(VectorWriter, WithoutVectorsOnlyFailuresAreWritten) {
  TempFolder folder;
  auto writer = VectorWriter::create({folder / "v.npz", {Pooling::kMean}, false});
  ASSERT_TRUE(writer->add(failed("b")));
  ASSERT_TRUE(writer->commit());
  EXPECT_TRUE(std::filesystem::exists(folder / "failed.tsv"));
  EXPECT_EQ(folder.num_files(), 1u);
}

TEST(VectorWriter, WhatCannotBeWrittenIsSaidAtOnce) {
  const auto message = [](const WriterOptions& options) { return VectorWriter::create(options).error().what(); };
  EXPECT_THAT(message({"v.h5", {Pooling::kMean}, false}), HasSubstr("must end in .npz or .npy"));
  EXPECT_THAT(message({"v.npy", {}, true}), HasSubstr("need an .npz file"));
  EXPECT_THAT(message({"/nowhere/v.npz", {Pooling::kMean}, false}), HasSubstr("cannot write '/nowhere/v.npz'"));
}

TEST(VectorWriter, NamesOfArraysAreSafe) {
  EXPECT_EQ(array_name("sp|P01308|INS_HUMAN"), "sp|P01308|INS_HUMAN");
  EXPECT_EQ(array_name("../a%\\\n"), "%2E.%2Fa%25%5C%0A");
}

}  // namespace
}  // namespace plica
