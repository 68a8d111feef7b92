#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loaders/file/byte_source.h"
#include "loaders/file/output_file.h"
#include "plica/tensor.h"

namespace plica {

// NumPy's .npy: a header (dtype, order, shape) and the elements. All dtypes of ours that NumPy has are read and
// written; bf16, which NumPy lacks, is written as f32, which holds its values exactly. Read are also big-endian and
// Fortran-ordered arrays; structured, string and object arrays are refused.

struct NpyHeader {
  DType dtype = DType::kF32;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
};

// The dictionary that follows magic, version and length: "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".
Result<NpyHeader> parse_npy_header(std::string_view dictionary);

// Magic, version, length and dictionary, filled up with blanks to at least `min_bytes` and a multiple of 64.
std::string format_npy_header(DType dtype, const Shape& shape, size_t min_bytes = 0);

DType npy_dtype(DType dtype);  // what `dtype` is written as

Result<Tensor> dense_copy(const TensorView& view);

// The elements as they are written: dense, row-major, bf16 widened. `storage` holds them where `view` cannot be used as
// it is.
Result<std::string_view> npy_elements(const TensorView& view, Tensor& storage);

// An array of `size_bytes` (header included); kInvalidInput where header and size disagree.
Result<Tensor> read_npy(ByteSource& source, uint64_t size_bytes);
Result<Tensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const TensorView& view);

// A matrix (rows, columns) written row by row; the number of rows is put into the header at the end.
class NpyMatrixWriter {
 public:
  static Result<NpyMatrixWriter> create(const std::string& path, DType dtype, int64_t columns);

  Status add_row(const void* row);  // `columns` elements of `dtype`
  Status commit();
  int64_t num_rows() const { return num_rows_; }

 private:
  NpyMatrixWriter(OutputFile file, DType dtype, int64_t columns)
      : file_(std::move(file)), dtype_(dtype), columns_(columns) {}

  OutputFile file_;
  DType dtype_;
  int64_t columns_;
  int64_t num_rows_ = 0;
};

}  // namespace plica
