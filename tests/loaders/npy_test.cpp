#include "loaders/array/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/core/dtype.h"
#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::HasSubstr;

std::string npy(const std::string& dictionary, const std::string& elements) {
  std::string text = dictionary + "\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size() & 0xff) + static_cast<char>(text.size() >> 8) +
         text + elements;
}

Result<Tensor> parse(const std::string& bytes) {
  static const TempFolder folder;
  put_file(folder / "x.npy", bytes);
  return read_npy(folder / "x.npy");
}

TEST(Npy, EveryDTypeComesBack) {
  TempFolder folder;
  for (int i = 0; i < 13; ++i) {
    const auto dtype = static_cast<DType>(i);
    auto tensor = Tensor::zeros(dtype, {3, 5});
    ASSERT_TRUE(tensor);
    for (size_t byte = 0; byte < tensor->num_bytes(); ++byte) tensor->as<uint8_t>()[byte] = byte % 2;
    ASSERT_TRUE(write_npy(folder / "x.npy", tensor->view()));
    auto back = read_npy(folder / "x.npy");
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(back->shape(), (Shape{3, 5}));
    EXPECT_EQ(back->dtype(), dtype == DType::kBF16 ? DType::kF32 : dtype);
    if (dtype == DType::kBF16) {
      EXPECT_EQ(back->as<float>()[7], to_float(tensor->as<BF16>()[7]));
      continue;
    }
    EXPECT_EQ(std::memcmp(back->data(), tensor->data(), tensor->num_bytes()), 0) << name_of(dtype);
  }
}

TEST(Npy, ScalarsAndEmptyArraysComeBack) {
  TempFolder folder;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{4, 0, 2}, Shape{1}}) {
    auto tensor = Tensor::zeros(DType::kI64, shape);
    ASSERT_TRUE(write_npy(folder / "x.npy", tensor->view()));
    auto back = read_npy(folder / "x.npy");
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(back->shape(), shape);
  }
}

TEST(Npy, HeaderIsWhatNumPyWrites) {
  const std::string header = format_npy_header(DType::kF32, {3});
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_THAT(header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(format_npy_header(DType::kBool, {}), HasSubstr("'|b1', 'fortran_order': False, 'shape': ()"));
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  const auto fortran = parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf"));
  ASSERT_TRUE(fortran) << to_string(fortran.error());
  EXPECT_EQ(std::string(fortran->as<char>(), 6), "abcdef");
  const auto big = parse(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1,)}", std::string("\1\2", 2)));
  ASSERT_TRUE(big) << to_string(big.error());
  EXPECT_EQ(big->as<int16_t>()[0], 0x0102);
}

TEST(Npy, StridedViewsAreWrittenDense) {
  TempFolder folder;
  auto tensor = Tensor::zeros(DType::kI32, {2, 3});
  for (int i = 0; i < 6; ++i) tensor->as<int32_t>()[i] = i;
  ASSERT_TRUE(write_npy(folder / "t.npy", {{DType::kI32, {3, 2}, {1, 3}}, tensor->data()}));
  auto back = read_npy(folder / "t.npy");
  ASSERT_TRUE(back);
  EXPECT_THAT(std::vector<int32_t>(back->as<int32_t>(), back->as<int32_t>() + 6),
              testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Npy, RefusesWhatItCannotMean) {
  const auto message = [](const std::string& dictionary, const std::string& elements = "") {
    auto tensor = parse(npy(dictionary, elements));
    return tensor ? std::string("read") : tensor.error().what();
  };
  EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "12345678"),
              HasSubstr("f32 2x2 needs 16 bytes, 8 are there"));
  EXPECT_THAT(message("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
              HasSubstr("dtype '|O' is not supported"));
  EXPECT_THAT(message("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), HasSubstr("structured"));
  EXPECT_THAT(
      message("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }"),
      HasSubstr("more than 2^62"));
  EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), HasSubstr("no tuple of sizes"));
  EXPECT_THAT(message("{'descr': '<f4'}"), HasSubstr("must have descr"));
  EXPECT_THAT(message("x"), HasSubstr("is no dictionary"));
}

TEST(Npy, DamagedFilesNeverCrash) {
  const std::string whole = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", std::string(24, 'x'));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse(whole.substr(0, size))) << size;
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    auto tensor = parse(bytes);
    EXPECT_TRUE(tensor || tensor.error().code() != Code::kInternal);
  }
}

TEST(NpyMatrix, RowCountIsPutIntoTheHeader) {
  TempFolder folder;
  auto writer = NpyMatrixWriter::create(folder / "m.npy", DType::kF32, 2);
  ASSERT_TRUE(writer);
  for (int row = 0; row < 1000; ++row) {
    const float values[2] = {static_cast<float>(row), -1};
    ASSERT_TRUE(writer->add_row(values));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "m.npy"));
  ASSERT_TRUE(writer->commit());
  auto back = read_npy(folder / "m.npy");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->shape(), (Shape{1000, 2}));
  EXPECT_EQ(back->as<float>()[2 * 999], 999);
}

}  // namespace
}  // namespace plica
