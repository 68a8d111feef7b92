#pragma once

#include <cstdint>

#include "loaders/onnx/external_data.h"
#include "loaders/onnx/module.h"
#include "loaders/onnx/wire.h"

namespace plica::onnx {

namespace proto {
class TensorProto;
}

// Decodes the tensors of one file.
class ConstantReader {
 public:
  // `skeleton` is that of `file` and outlives the reader.
  ConstantReader(FileBytes file, const Skeleton& skeleton, ExternalFiles external)
      : file_(std::move(file)), skeleton_(skeleton), external_(std::move(external)) {}

  // The tensor in any of its encodings. Raw and external data stays in its file where it is aligned. A type outside DType
  // gives a Constant with a `problem`; kInvalidModel, naming the tensor, where data and shape do not fit.
  Result<Constant> read(const proto::TensorProto& tensor);

  int64_t bytes_mapped() const { return bytes_mapped_; }  // of what was read: left in mapped files
  int64_t bytes_copied() const { return bytes_copied_; }  // the rest

 private:
  Status read_data(const proto::TensorProto& tensor, Constant& constant);
  Status place(const FileBytes& file, size_t offset, size_t bytes, Constant& constant);
  Status copy_typed_field(const proto::TensorProto& tensor, Constant& constant);

  FileBytes file_;
  const Skeleton& skeleton_;
  ExternalFiles external_;
  int64_t bytes_mapped_ = 0;
  int64_t bytes_copied_ = 0;
};

}  // namespace plica::onnx
