#include "loaders/array/npz.h"

#include <set>
#include <string_view>

#include "loaders/array/npy.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr std::string_view kSuffix = ".npy";

Result<Tensor> read_member(const ZipReader& zip, const ZipMember& member) {
  PLICA_TRY(auto source, zip.read(member));
  PLICA_TRY(Tensor tensor, read_npy(*source, member.size_bytes));
  char beyond = 0;
  PLICA_TRY([[maybe_unused]] const size_t none, source->read(&beyond, 1));  // compares the checksum
  return tensor;
}

}  // namespace

Result<std::vector<NamedTensor>> read_npz(const std::string& path) {
  PLICA_TRY(const ZipReader zip, ZipReader::open(path));
  std::vector<NamedTensor> arrays;
  std::set<std::string_view> names;
  for (const ZipMember& member : zip.members()) {
    if (!member.name.ends_with(kSuffix)) continue;
    if (!names.insert(member.name).second)
      return Error(Code::kInvalidInput, "'" + path + "' has member '" + member.name + "' twice, wanted each name once");
    PLICA_TRY(Tensor tensor, read_member(zip, member).context("reading array '" + member.name + "' of '" + path + "'"));
    arrays.emplace_back(member.name.substr(0, member.name.size() - kSuffix.size()), std::move(tensor));
  }
  return arrays;
}

Result<NpzWriter> NpzWriter::create(const std::string& path, Packing packing) {
  PLICA_TRY(ZipWriter zip, ZipWriter::create(path, packing));
  return NpzWriter(std::move(zip));
}

Status NpzWriter::add(const std::string& name, const TensorView& view) {
  Tensor storage;
  PLICA_TRY(const std::string_view elements, npy_elements(view, storage));
  return zip_.add(name + std::string(kSuffix), format_npy_header(view.type.dtype, view.type.shape), elements);
}

Status NpzWriter::add_text(const std::string& name, std::string_view text) { return zip_.add(name, {}, text); }

Status write_npz(const std::string& path, const std::vector<NamedTensor>& arrays) {
  PLICA_TRY(NpzWriter writer, NpzWriter::create(path));
  for (const auto& [name, tensor] : arrays) PLICA_CHECK(writer.add(name, tensor.view()));
  return writer.commit();
}

}  // namespace plica
