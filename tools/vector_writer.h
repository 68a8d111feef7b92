#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loaders/array/npy.h"
#include "loaders/array/npz.h"
#include "models/pooling.h"
#include "plica/tensor.h"

namespace plica {

// What is known of one record when it is written. Vectors are in the order of the writer's poolings.
struct EmbeddedRecord {
  std::string id;
  int64_t line = 0;
  int64_t num_residues = 0;
  std::vector<std::vector<float>> vectors;
  std::optional<Tensor> residues;     // (residues, C), where they are wanted
  std::optional<std::string> failed;  // why there is nothing
};

struct WriterOptions {
  std::string path;               // .npz, or .npy for one matrix a pooling
  std::vector<Pooling> poolings;  // may be empty with per_residue
  bool per_residue = false;       // .npz only
};

// Writes records in the order they are given, and beside them, in the same folder, index.tsv (for .npy) and failed.tsv (where
// records failed). Nothing appears before commit().
class VectorWriter {
 public:
  static Result<VectorWriter> create(const WriterOptions& options);

  // Why no vectors can be written under this id, or nothing.
  std::optional<std::string> problem_of(const std::string& id) const;

  Status add(const EmbeddedRecord& record);

  // Where no record could be embedded only failed.tsv is written.
  Status commit();

  int64_t num_done() const { return num_done_; }
  int64_t num_failed() const { return num_failed_; }

 private:
  VectorWriter(WriterOptions options, OutputFile index, OutputFile failed)
      : options_(std::move(options)), index_(std::move(index)), failed_(std::move(failed)) {}

  Status add_arrays(const EmbeddedRecord& record);
  Status add_rows(const EmbeddedRecord& record);

  WriterOptions options_;
  std::optional<NpzWriter> npz_;
  std::vector<NpyMatrixWriter> matrices_;  // made when the first vector tells their width
  OutputFile index_;
  OutputFile failed_;
  int64_t num_done_ = 0;
  int64_t num_failed_ = 0;
};

// An id as the name of an array: '/', '\', '%', control characters and a leading '.' become %XX.
std::string array_name(const std::string& id);

}  // namespace plica
