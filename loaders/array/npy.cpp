#include "loaders/array/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "runtime/core/dtype.h"
#include "runtime/core/result.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLargestHeader = size_t{1} << 20;

struct NpyName {
  std::string_view name;  // without the byte order
  DType dtype;
};
constexpr std::array kNames = {NpyName{"f4", DType::kF32},  NpyName{"f8", DType::kF64}, NpyName{"f2", DType::kF16},
                               NpyName{"b1", DType::kBool}, NpyName{"i1", DType::kI8},  NpyName{"i2", DType::kI16},
                               NpyName{"i4", DType::kI32},  NpyName{"i8", DType::kI64}, NpyName{"u1", DType::kU8},
                               NpyName{"u2", DType::kU16},  NpyName{"u4", DType::kU32}, NpyName{"u8", DType::kU64}};

// Reads the few forms of Python literals that a header holds.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::string_view> string() {
    const char quote = take("'") ? '\'' : take("\"") ? '"' : '\0';
    const size_t end = quote == '\0' ? std::string_view::npos : text_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return value;
  }
  std::optional<Shape> tuple() {
    if (!take("(")) return std::nullopt;
    Shape shape;
    while (!take(")")) {
      skip_blanks();
      int64_t size = 0;
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (code != std::errc() || size < 0 || shape.size() == 32) return std::nullopt;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      take("L");
      shape.push_back(size);
      if (!take(",") && !text_.starts_with(')')) return std::nullopt;
    }
    return shape;
  }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n\r"), text_.size())); }

  std::string_view text_;
};

Error bad_header(std::string_view dictionary, const std::string& why) {
  dictionary = dictionary.substr(0, std::min<size_t>(dictionary.find_last_not_of(" \n") + 1, 200));
  return Error(Code::kInvalidInput, "the array's header " + why + ": " + std::string(dictionary));
}

Status parse_descr(std::string_view descr, NpyHeader& header) {
  for (const NpyName& known : kNames) {
    if (descr.size() != 3 || descr.substr(1) != known.name) continue;
    const bool one_byte = known.name[1] == '1';
    if (descr[0] != '<' && descr[0] != '>' && descr[0] != '=' && !(descr[0] == '|' && one_byte)) continue;
    header.dtype = known.dtype;
    header.big_endian = descr[0] == '>' && !one_byte;
    return {};
  }
  return Error(Code::kInvalidInput, "the array's dtype '" + std::string(descr) +
                                        "' is not supported (wanted: float16/32/64, bool, int8..64 or uint8..64)");
}

void swap_bytes(char* data, size_t count, size_t width) {
  for (size_t i = 0; i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

// Copies the elements of `view` in row-major order to `out`.
void gather(const TensorView& view, char* out) {
  const size_t width = size_of(view.type.dtype);
  Strides storage;
  const Strides& strides = strides_of(view.type, storage);
  Shape index(view.type.shape.size(), 0);
  const char* from = static_cast<const char*>(view.data);
  for (int64_t left = num_elements(view.type.shape); left > 0; --left, out += width) {
    std::memcpy(out, from, width);
    for (size_t axis = index.size(); axis-- > 0;) {
      from += strides[axis] * static_cast<int64_t>(width);
      if (++index[axis] < view.type.shape[axis]) break;
      from -= strides[axis] * index[axis] * static_cast<int64_t>(width);
      index[axis] = 0;
    }
  }
}

Result<Tensor> to_row_major(const Tensor& fortran, const Shape& shape) {
  PLICA_TRY(Tensor dense, Tensor::zeros(fortran.dtype(), shape));
  TensorView view{{fortran.dtype(), shape, Strides(shape.size())}, const_cast<void*>(fortran.data())};
  int64_t stride = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    view.type.strides[axis] = stride;
    stride *= shape[axis];
  }
  gather(view, static_cast<char*>(dense.data()));
  return dense;
}

Result<NpyHeader> read_header(ByteSource& source, uint64_t size_bytes, uint64_t& header_bytes) {
  std::array<char, 12> start{};
  if (size_bytes < 10)
    return Error(Code::kInvalidInput, "it is no .npy array: it has only " + std::to_string(size_bytes) + " bytes");
  PLICA_CHECK(read_exactly(source, start.data(), 10));
  if (std::string_view(start.data(), kMagic.size()) != kMagic)
    return Error(Code::kInvalidInput, "it is no .npy array: the first bytes are not \\x93NUMPY");
  const int major = static_cast<unsigned char>(start[6]);
  if (major < 1 || major > 3)
    return Error(Code::kInvalidInput,
                 "the version of the .npy array is " + std::to_string(major) + "; 1, 2 and 3 are known");
  const size_t prefix = major == 1 ? 10 : 12;
  if (major > 1) PLICA_CHECK(read_exactly(source, start.data() + 10, 2));
  size_t length = 0;
  for (size_t i = prefix; i-- > 8;) length = length << 8 | static_cast<unsigned char>(start[i]);
  if (length > kLargestHeader || prefix + length > size_bytes)
    return Error(Code::kInvalidInput, "the header of the array claims " + std::to_string(length) + " bytes, " +
                                          std::to_string(size_bytes - prefix) + " are left");
  std::string dictionary(length, '\0');
  PLICA_CHECK(read_exactly(source, dictionary.data(), length));
  header_bytes = prefix + length;
  return parse_npy_header(dictionary);
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view dictionary) {
  NpyHeader header;
  Literal text(dictionary);
  if (!text.take("{")) return bad_header(dictionary, "is no dictionary");
  int found = 0;
  while (!text.take("}")) {
    const auto key = text.string();
    if (!key || !text.take(":")) return bad_header(dictionary, "cannot be read");
    if (*key == "descr") {
      const auto descr = text.string();
      if (!descr) return bad_header(dictionary, "describes a structured array, which is not supported");
      PLICA_CHECK(parse_descr(*descr, header));
    } else if (*key == "fortran_order") {
      header.fortran_order = text.take("True");
      if (!header.fortran_order && !text.take("False"))
        return bad_header(dictionary, "has a fortran_order that is not True or False");
    } else if (*key == "shape") {
      auto shape = text.tuple();
      if (!shape) return bad_header(dictionary, "has a shape that is no tuple of sizes");
      header.shape = *std::move(shape);
    } else {
      return bad_header(dictionary, "has the unknown key '" + std::string(*key) + "'");
    }
    ++found;
    text.take(",");
  }
  if (found != 3) return bad_header(dictionary, "must have descr, fortran_order and shape");
  return header;
}

std::string format_npy_header(DType dtype, const Shape& shape, size_t min_bytes) {
  std::string dictionary = "{'descr': '";
  for (const NpyName& known : kNames) {
    if (known.dtype != npy_dtype(dtype)) continue;
    dictionary += size_of(known.dtype) == 1 ? '|' : '<';
    dictionary += known.name;
  }
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) dictionary += ' ';
    dictionary += std::to_string(shape[i]);
    if (i + 1 < shape.size() || shape.size() == 1) dictionary += ',';
  }
  dictionary += "), }";
  size_t bytes = std::max(min_bytes, 10 + dictionary.size() + 1);
  bytes = (bytes + 63) / 64 * 64;
  dictionary.resize(bytes - 11, ' ');
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>((bytes - 10) & 0xff), static_cast<char>((bytes - 10) >> 8)};
  return header + dictionary + '\n';
}

DType npy_dtype(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }

Result<Tensor> dense_copy(const TensorView& view) {
  PLICA_TRY(Tensor copy, Tensor::zeros(view.type.dtype, view.type.shape));
  gather(view, static_cast<char*>(copy.data()));
  return copy;
}

Result<std::string_view> npy_elements(const TensorView& view, Tensor& storage) {
  const auto bytes_of = [](const void* data, size_t size) {
    return std::string_view(static_cast<const char*>(data), size);
  };
  if (view.type.dtype != DType::kBF16 && is_dense(view.type)) return bytes_of(view.data, num_bytes(view.type));
  PLICA_TRY(storage, dense_copy(view));
  if (view.type.dtype == DType::kBF16) {
    PLICA_TRY(Tensor wide, Tensor::zeros(DType::kF32, view.type.shape));
    const int64_t count = num_elements(view.type.shape);
    for (int64_t i = 0; i < count; ++i) wide.as<float>()[i] = to_float(storage.as<BF16>()[i]);
    storage = std::move(wide);
  }
  return bytes_of(storage.data(), storage.num_bytes());
}

Result<Tensor> read_npy(ByteSource& source, uint64_t size_bytes) {
  uint64_t header_bytes = 0;
  PLICA_TRY(const NpyHeader header, read_header(source, size_bytes, header_bytes));
  uint64_t wanted = size_of(header.dtype);
  bool empty = false;
  bool overflow = false;
  for (int64_t size : header.shape) {
    empty |= size == 0;
    overflow |=
        __builtin_mul_overflow(wanted, static_cast<uint64_t>(std::max<int64_t>(size, 1)), &wanted) || wanted >> 62 != 0;
  }
  if (empty) wanted = 0;
  if (overflow || wanted != size_bytes - header_bytes)
    return Error(Code::kInvalidInput, "an array of " + std::string(name_of(header.dtype)) + " " +
                                          to_string(header.shape) + " needs " +
                                          (overflow ? "more than 2^62" : std::to_string(wanted)) + " bytes, " +
                                          std::to_string(size_bytes - header_bytes) + " are there");
  PLICA_TRY(Tensor tensor, Tensor::zeros(header.dtype, header.shape));
  char* data = static_cast<char*>(tensor.data());
  PLICA_CHECK(read_exactly(source, data, wanted));
  if (header.big_endian) swap_bytes(data, wanted / size_of(header.dtype), size_of(header.dtype));
  if (header.dtype == DType::kBool)
    for (uint64_t i = 0; i < wanted; ++i) data[i] = data[i] != 0;
  if (header.fortran_order && header.shape.size() > 1) return to_row_major(tensor, header.shape);
  return tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  PLICA_TRY(auto file, InputFile::open(path));
  const uint64_t size = file->size_bytes();
  return read_npy(*range_source(std::move(file), 0, size), size).context("reading '" + path + "'");
}

Status write_npy(const std::string& path, const TensorView& view) {
  Tensor storage;
  PLICA_TRY(const std::string_view elements, npy_elements(view, storage));
  PLICA_TRY(OutputFile file, OutputFile::create(path));
  PLICA_CHECK(file.write(format_npy_header(view.type.dtype, view.type.shape)));
  PLICA_CHECK(file.write(elements));
  return file.commit();
}

Result<NpyMatrixWriter> NpyMatrixWriter::create(const std::string& path, DType dtype, int64_t columns) {
  PLICA_TRY(OutputFile file, OutputFile::create(path));
  PLICA_CHECK(file.write(format_npy_header(dtype, {0, columns}, 128)));
  return NpyMatrixWriter(std::move(file), dtype, columns);
}

Status NpyMatrixWriter::add_row(const void* row) {
  Tensor storage;
  PLICA_TRY(const std::string_view elements, npy_elements({{dtype_, {columns_}, {}}, const_cast<void*>(row)}, storage));
  PLICA_CHECK(file_.write(elements));
  ++num_rows_;
  return {};
}

Status NpyMatrixWriter::commit() {
  const std::string header = format_npy_header(dtype_, {num_rows_, columns_}, 128);
  PLICA_CHECK(file_.overwrite(0, header.data(), header.size()));
  return file_.commit();
}

}  // namespace plica
