#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "loaders/array/npy.h"
#include "loaders/array/npz.h"
#include "tests/tools/program.h"

namespace plica {
namespace {

using testing::HasSubstr;

class Embed : public testing::Test {
 protected:
  void SetUp() override { save(language_model(), plica_ / "esm2.onnx"); }

  std::map<std::string, Tensor> vectors(const std::string& name) {
    auto arrays = read_npz(plica_ / name);
    EXPECT_TRUE(arrays) << to_string(arrays.error());
    if (!arrays) return {};
    return {arrays->begin(), arrays->end()};
  }

  Program plica_;
};

TEST_F(Embed, AloneAndInAPaddedBatchAreTheSame) {
  put_file(plica_ / "in.fasta", ">a\nMKTAYIAKQR\n>b\nMK\n>c\nGGWW\n");
  const auto together = plica_("embed esm2.onnx in.fasta -o together.npz");
  EXPECT_EQ(together.code, 0) << together.err;
  EXPECT_THAT(together.err, HasSubstr("3 of 3 records, 16 residues"));
  EXPECT_THAT(together.err, HasSubstr("1 batches, mean batch 3.0 records, padding waste 38.9 %"));
  EXPECT_EQ(plica_("embed esm2.onnx in.fasta -o alone.npz --max-batch 1").code, 0);
  auto a = vectors("together.npz");
  auto b = vectors("alone.npz");
  ASSERT_EQ(a.size(), 3u);
  for (const char* id : {"a", "b", "c"})
    for (int column = 0; column < 4; ++column)
      EXPECT_LE(std::abs(a[id].as<float>()[column] - b[id].as<float>()[column]),
                1e-5 * (1 + std::abs(b[id].as<float>()[column])));
}

TEST_F(Embed, AMeanIsOfResiduesOnly) {
  put_file(plica_ / "in.fasta", ">b\nMK\n");
  ASSERT_EQ(plica_("embed esm2.onnx in.fasta -o out.npz --per-residue --pool mean,cls").code, 0);
  auto arrays = vectors("out.npz");
  const Tensor& residues = arrays["b/residues"];
  ASSERT_EQ(residues.shape(), (Shape{2, 4}));
  for (int column = 0; column < 4; ++column) {
    const float mean = (residues.as<float>()[column] + residues.as<float>()[4 + column]) / 2;
    EXPECT_FLOAT_EQ(arrays["b/mean"].as<float>()[column], mean);
  }
  EXPECT_NE(arrays["b/cls"].as<float>()[0], arrays["b/mean"].as<float>()[0]);
}

TEST_F(Embed, BadRecordsFailAndTheOthersAreDone) {
  put_file(plica_ / "in.fasta",
           ">good\nMKT\n>empty\n>good\nMM\n>long\n" + std::string(60, 'A') + "\n>odd\nMJ1K\n>last/../x\nWW\n");
  const auto ended = plica_("embed esm2.onnx in.fasta -o out.npy --unknown error");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_EQ(get_file(plica_ / "index.tsv"),
            "id\tlength\trow\tstatus\ngood\t3\t0\tok\nempty\t0\t-\tfailed\ngood\t0\t-\tfailed\nlong\t60\t-"
            "\tfailed\nodd\t0\t-\tfailed\nlast/../x\t2\t1\tok\n");
  const std::string failed = get_file(plica_ / "failed.tsv");
  EXPECT_THAT(failed, HasSubstr("empty\t3\thas no sequence"));
  EXPECT_THAT(failed, HasSubstr("good\t4\thas an id that line 1 already has"));
  EXPECT_THAT(failed, HasSubstr("odd\t8\tposition 2 holds 'J'"));
  EXPECT_THAT(failed, HasSubstr("position_table"));
  EXPECT_EQ(read_npy(plica_ / "out.npy")->shape(), (Shape{2, 4}));
}

TEST_F(Embed, AnIdThatIsTooLongForAnArchiveFailsAlone) {
  put_file(plica_ / "in.fasta", ">a\nMKT\n>" + std::string(70000, 'x') + "\nMK\n>b\nMK\n");
  const auto ended = plica_("embed esm2.onnx in.fasta -o out.npz");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err,
              HasSubstr("xxx...': has an id of 70000 bytes; the name of an array in .npz has at most 65000"));
  EXPECT_EQ(read_npz(plica_ / "out.npz")->size(), 2u);
  EXPECT_EQ(plica_("embed esm2.onnx in.fasta -o out.npy").code, 0);
}

TEST_F(Embed, KnownPositionsRefuseALongSequenceBeforeTheRun) {
  put_file(plica_ / "config.json", R"({"model_type": "bert", "max_position_embeddings": 40})");
  put_file(plica_ / "in.fasta", ">long\n" + std::string(39, 'A') + "\n>fits\n" + std::string(38, 'A') + "\n");
  EXPECT_EQ(plica_("embed esm2.onnx in.fasta -o out.npz").code, 1);
  EXPECT_THAT(get_file(plica_ / "failed.tsv"), HasSubstr("has 39 residues; the model takes at most 38 (40 tokens)"));
}

TEST_F(Embed, UnknownResiduesAreCounted) {
  put_file(plica_ / "in.fasta", ">a\nMJ1K*\n");
  const auto ended = plica_("embed esm2.onnx in.fasta -o out.npz");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("2 residues are no letters of the alphabet"));
}

TEST_F(Embed, NothingToDoWritesNothing) {
  put_file(plica_ / "in.fasta", "");
  const auto empty = plica_("embed esm2.onnx in.fasta -o out.npz");
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("'in.fasta' holds no records"));
  EXPECT_FALSE(plica_.has("out.npz"));
  EXPECT_FALSE(plica_.has("failed.tsv"));
  const auto missing = plica_("embed esm2.onnx nothing.fasta -o out.npz");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("cannot read 'nothing.fasta': No such file"));
  put_file(plica_ / "in.fasta", ">a\n>b\n");
  EXPECT_EQ(plica_("embed esm2.onnx in.fasta -o out.npz").code, 2);
  EXPECT_FALSE(plica_.has("out.npz"));
  EXPECT_TRUE(plica_.has("failed.tsv"));
}

// Nor is a closed stream one of the files that the program opens.
TEST_F(Embed, ClosedStandardStreamsAreNoFiles) {
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  const auto closed = plica_("embed esm2.onnx - -o out.npz <&- >.out 2>.err; exit $? #");
  EXPECT_EQ(closed.code, 2);
  EXPECT_THAT(closed.err, HasSubstr("cannot read 'standard input': Bad file descriptor"));
  EXPECT_EQ(plica_("embed esm2.onnx in.fasta -o out.npz >&- 2>&- </dev/null; exit $? #").code, 0);
  EXPECT_EQ(vectors("out.npz").size(), 1u);
  EXPECT_EQ(plica_("info esm2.onnx >&- 2>.err; exit $? #").code, 2);
}

TEST_F(Embed, ATruncatedModelIsRefusedWithItsPlace) {
  const std::string whole = get_file(plica_ / "esm2.onnx");
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  for (const size_t size : {size_t{0}, whole.size() / 3, whole.size() - 5}) {
    put_file(plica_ / "esm2_cut.onnx", whole.substr(0, size));
    const auto ended = plica_("embed esm2_cut.onnx in.fasta -o out.npz");
    EXPECT_EQ(ended.code, 2) << size;
    EXPECT_THAT(ended.err, HasSubstr("esm2_cut.onnx")) << size;
    EXPECT_FALSE(plica_.has("out.npz"));
  }
}

TEST_F(Embed, WhereItCannotWriteNothingStays) {
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  const auto nowhere = plica_("embed esm2.onnx in.fasta -o nowhere/out.npz");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write 'nowhere/out.npz': No such file"));
  std::filesystem::create_symlink("/dev/full", plica_ / "full.npz");
  const auto full = plica_("embed esm2.onnx in.fasta -o full.npz");
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("cannot write 'full.npz': No space left"));
}

TEST_F(Embed, OutputsThatCannotBeWrittenAreRefusedBeforeTheRun) {
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  EXPECT_THAT(plica_("embed esm2.onnx in.fasta -o in.fasta/out.npz").err,
              HasSubstr("cannot write 'in.fasta/out.npz': Not a directory"));
  std::filesystem::create_directory(plica_ / "folder.npz");
  EXPECT_THAT(plica_("embed esm2.onnx in.fasta -o folder.npz").err, HasSubstr("cannot write 'folder.npz': Is a dir"));
  EXPECT_THAT(plica_("embed esm2.onnx in.fasta -o out.txt").err, HasSubstr("must end in .npz or .npy"));
}

TEST_F(Embed, OfAMatrixOnAFullDiskNothingStays) {
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  std::filesystem::create_symlink("/dev/full", plica_ / "index.tsv");
  const auto index = plica_("embed esm2.onnx in.fasta -o out.npz");
  EXPECT_EQ(index.code, 0) << "index.tsv belongs to .npy: " << index.err;
  std::filesystem::create_symlink("/dev/full", plica_ / "full.npy");
  const auto full = plica_("embed esm2.onnx in.fasta -o full.npy");
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("cannot write 'full.npy': No space left"));
}

TEST_F(Embed, ADiskThatFillsUpMeanwhileLeavesNothing) {
  std::string fasta;
  for (int i = 0; i < 400; ++i) fasta += ">p" + std::to_string(i) + "\n" + std::string(30, 'A') + "\n";
  put_file(plica_ / "in.fasta", fasta);
  const std::string command = "cd '" + plica_.path() +
                              "' && trap '' XFSZ && ulimit -f 64 && '" PLICA_PROGRAM
                              "' embed esm2.onnx in.fasta -o out.npz --per-residue 2>.err";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_THAT(get_file(plica_ / ".err"), HasSubstr("cannot write 'out.npz': File too large"));
  EXPECT_FALSE(plica_.has("out.npz"));
  EXPECT_FALSE(plica_.has("failed.tsv"));
}

TEST_F(Embed, AnUnknownAlphabetIsAskedFor) {
  std::filesystem::rename(plica_ / "esm2.onnx", plica_ / "model.onnx");
  put_file(plica_ / "in.fasta", ">a\nMK\n");
  const auto ended = plica_("embed model.onnx in.fasta -o out.npz");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("give --family"));
  EXPECT_EQ(plica_("embed model.onnx in.fasta -o out.npz --family esm2").code, 0);
}

TEST_F(Embed, TheHelpTeaches) {
  const auto ended = plica_("embed --help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("plica embed esm2.onnx proteins.fasta -o vectors.npz"));
  EXPECT_EQ(plica_("embed").code, 2);
  EXPECT_EQ(plica_("").code, 2);
}

TEST_F(Embed, AKilledRunLeavesNothing) {
  std::string fasta;
  for (int i = 0; i < 20000; ++i) fasta += ">p" + std::to_string(i) + "\n" + std::string(5 + i % 30, 'A') + "\n";
  put_file(plica_ / "in.fasta", fasta);
  const std::string command = "cd '" + plica_.path() +
                              "' && timeout -s KILL 0.3 '" PLICA_PROGRAM
                              "' embed esm2.onnx in.fasta -o out.npz 2>/dev/null";
  const bool ended_first = std::system(command.c_str()) == 0;
  EXPECT_TRUE(ended_first || !plica_.has("out.npz"));
}

TEST_F(Embed, AFileAtItsLimitIsAnError) {
  std::string records;
  for (int i = 0; i < 40; ++i) records += ">r" + std::to_string(i) + "\n" + std::string(30, 'A') + "\n";
  put_file(plica_ / "in.fasta", records);
  const auto ended =
      plica_("--version; ulimit -f 1; '" PLICA_PROGRAM "' embed esm2.onnx in.fasta -o out.npz --per-residue");
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("File too large"));
}

}  // namespace
}  // namespace plica
