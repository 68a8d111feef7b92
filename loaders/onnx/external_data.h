#pragma once

#include <map>
#include <span>
#include <string>

#include "loaders/onnx/file_bytes.h"

namespace plica::onnx {

namespace proto {
class TensorProto;
}

// The files beside a model that hold its external tensors, each opened once.
class ExternalFiles {
 public:
  struct Region {
    FileBytes file;
    size_t offset = 0;
  };

  // `model_path` is the model file: external data lies in its folder, or, where it is a link, in the folder it leads to.
  // Without a path every external tensor is an error.
  ExternalFiles(std::string model_path, bool map) : model_path_(std::move(model_path)), map_(map) {}

  // Where the `bytes` bytes of an external tensor lie. kInvalidModel, naming tensor and file, for a path that leaves the
  // folder, a missing file, a region outside the file, a length that differs from `bytes`.
  Result<Region> find(const proto::TensorProto& tensor, size_t bytes);

 private:
  Result<FileBytes> open(const std::string& location);

  std::string model_path_;
  bool map_;
  std::map<std::string, FileBytes> files_;
};

}  // namespace plica::onnx
