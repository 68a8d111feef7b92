#include "tools/vector_writer.h"

#include <filesystem>

#include "runtime/core/result.h"

namespace plica {
namespace {

std::filesystem::path folder_of(const std::string& path) { return std::filesystem::path(path).parent_path(); }

// "vectors.npy", or "vectors.mean.npy" where there are several poolings.
std::string matrix_path(const WriterOptions& options, Pooling pooling) {
  if (options.poolings.size() == 1) return options.path;
  return std::filesystem::path(options.path).replace_extension("." + std::string(name_of(pooling)) + ".npy").string();
}

// Text as one field of a .tsv file.
std::string field(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return text;
}

}  // namespace

std::string array_name(const std::string& id) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string name;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f && c != '/' && c != '\\' && c != '%' && !(c == '.' && name.empty())) {
      name += c;
      continue;
    }
    name += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return name;
}

Result<VectorWriter> VectorWriter::create(const WriterOptions& options) {
  const bool npz = options.path.ends_with(".npz");
  if (!npz && !options.path.ends_with(".npy"))
    return Error(Code::kInvalidInput, "the output '" + options.path + "' must end in .npz or .npy");
  if (!npz && options.per_residue)
    return Error(Code::kInvalidInput,
                 "vectors of each residue need an .npz file; '" + options.path + "' holds one matrix");
  std::optional<NpzWriter> arrays;
  if (npz) {
    PLICA_TRY(arrays, NpzWriter::create(options.path));
  }
  PLICA_TRY(OutputFile index, OutputFile::create((folder_of(options.path) / "index.tsv").string()));
  PLICA_TRY(OutputFile failed, OutputFile::create((folder_of(options.path) / "failed.tsv").string()));
  VectorWriter writer(options, std::move(index), std::move(failed));
  PLICA_CHECK(writer.index_.write("id\tlength\trow\tstatus\n"));
  PLICA_CHECK(writer.failed_.write("id\tline\treason\n"));
  writer.npz_ = std::move(arrays);
  return writer;
}

std::optional<std::string> VectorWriter::problem_of(const std::string& id) const {
  constexpr size_t kMost = 65000;  // a zip archive's names are of 65535 bytes at most, what follows the id among them
  const size_t num_bytes = npz_ ? array_name(id).size() : 0;
  if (num_bytes <= kMost) return std::nullopt;
  return "has an id of " + std::to_string(num_bytes) + " bytes; the name of an array in .npz has at most " +
         std::to_string(kMost);
}

Status VectorWriter::add_arrays(const EmbeddedRecord& record) {
  const std::string name = array_name(record.id);
  const bool alone = options_.poolings.size() + (options_.per_residue ? 1 : 0) == 1;
  for (size_t i = 0; i < options_.poolings.size(); ++i) {
    const std::vector<float>& vector = record.vectors[i];
    const TensorView view{{DType::kF32, {static_cast<int64_t>(vector.size())}, {}}, const_cast<float*>(vector.data())};
    PLICA_CHECK(npz_->add(alone ? name : name + "/" + std::string(name_of(options_.poolings[i])), view));
  }
  if (record.residues) PLICA_CHECK(npz_->add(alone ? name : name + "/residues", record.residues->view()));
  return {};
}

Status VectorWriter::add_rows(const EmbeddedRecord& record) {
  for (size_t i = 0; i < options_.poolings.size(); ++i) {
    const std::vector<float>& vector = record.vectors[i];
    if (matrices_.size() == i) {
      PLICA_TRY(auto matrix, NpyMatrixWriter::create(matrix_path(options_, options_.poolings[i]), DType::kF32,
                                                     static_cast<int64_t>(vector.size())));
      matrices_.push_back(std::move(matrix));
    }
    PLICA_CHECK(matrices_[i].add_row(vector.data()));
  }
  return {};
}

Status VectorWriter::add(const EmbeddedRecord& record) {
  const std::string start = field(record.id) + "\t";
  if (record.failed) {
    ++num_failed_;
    PLICA_CHECK(failed_.write(start + std::to_string(record.line) + "\t" + field(*record.failed) + "\n"));
    return index_.write(start + std::to_string(record.num_residues) + "\t-\tfailed\n");
  }
  PLICA_CHECK(npz_ ? add_arrays(record) : add_rows(record));
  return index_.write(start + std::to_string(record.num_residues) + "\t" + std::to_string(num_done_++) + "\tok\n");
}

Status VectorWriter::commit() {
  std::error_code ignored;
  if (num_failed_ > 0 || std::filesystem::exists(failed_.path(), ignored)) PLICA_CHECK(failed_.commit());
  if (num_done_ == 0) return {};
  if (npz_) return npz_->commit();
  for (NpyMatrixWriter& matrix : matrices_) PLICA_CHECK(matrix.commit());
  return index_.commit();
}

}  // namespace plica
