#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loaders/array/zip.h"
#include "plica/tensor.h"

namespace plica {

using NamedTensor = std::pair<std::string, Tensor>;

// All arrays of an .npz file (a zip archive of NAME.npy members), in the file's order. Other members are passed over.
Result<std::vector<NamedTensor>> read_npz(const std::string& path);

// An .npz file written one array at a time; dtypes as in npy.h. It appears under its name at commit().
class NpzWriter {
 public:
  static Result<NpzWriter> create(const std::string& path, Packing packing = Packing::kStored);

  Status add(const std::string& name, const TensorView& view);
  Status add_text(const std::string& name, std::string_view text);  // a member that is no array
  Status commit() { return zip_.commit(); }

 private:
  explicit NpzWriter(ZipWriter zip) : zip_(std::move(zip)) {}

  ZipWriter zip_;
};

Status write_npz(const std::string& path, const std::vector<NamedTensor>& arrays);

}  // namespace plica
