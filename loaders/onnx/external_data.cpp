#include "loaders/onnx/external_data.h"

#include <charconv>
#include <filesystem>
#include <optional>

#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

namespace fs = std::filesystem;

Error invalid(std::string text) { return Error(Code::kInvalidModel, std::move(text)); }

Result<std::optional<size_t>> number(const proto::StringStringEntryProto& entry) {
  const std::string& text = entry.value();
  size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return invalid("the external " + entry.key() + " is '" + text + "', wanted a number");
  return std::optional<size_t>(value);
}

struct Place {
  std::string location;
  std::optional<size_t> offset, length;
};

Result<Place> read_place(const proto::TensorProto& tensor) {
  Place place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") {
      PLICA_TRY(place.offset, number(entry));
    }
    if (entry.key() == "length") {
      PLICA_TRY(place.length, number(entry));
    }
  }
  if (place.location.empty()) return invalid("the tensor is external, but no file is named");
  return place;
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

Result<FileBytes> ExternalFiles::open(const std::string& location) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  const std::string quoted = "external data file '" + location + "'";
  if (model_path_.empty()) return invalid(quoted + " of a model that comes from no file");
  const fs::path relative(location);
  if (location.find('\0') != std::string::npos) return invalid(quoted + " has a zero byte in its name");
  if (relative.is_absolute()) return invalid(quoted + " has an absolute path, wanted one in the model's folder");
  for (const fs::path& part : relative)
    if (part == "..") return invalid(quoted + " leaves the model's folder");

  std::error_code failure;
  const fs::path model(model_path_);
  const fs::path target = fs::canonical(model.parent_path() / relative, failure);
  if (failure) return invalid(quoted + " cannot be opened: " + failure.message());
  const fs::path folder = fs::canonical(model.parent_path().empty() ? "." : model.parent_path(), failure);
  const fs::path linked_folder = fs::canonical(model, failure).parent_path();
  if (!is_inside(target, folder) && (failure || !is_inside(target, linked_folder)))
    return invalid(quoted + " is a link out of the model's folder, to '" + target.string() + "'");

  auto file = FileBytes::open(target.string(), map_);
  if (!file && file.error().code() == Code::kInvalidInput) return invalid(quoted + ": " + file.error().what());
  if (file) files_.emplace(location, *file);
  return file;
}

Result<ExternalFiles::Region> ExternalFiles::find(const proto::TensorProto& tensor, size_t bytes) {
  PLICA_TRY(const Place place, read_place(tensor));
  PLICA_TRY(FileBytes file, open(place.location));
  const size_t size = file.bytes().size();
  const size_t offset = place.offset.value_or(0);
  const std::string quoted = "external data file '" + place.location + "' of " + std::to_string(size) + " bytes";
  if (offset > size) return invalid(quoted + ": the tensor begins at byte " + std::to_string(offset));
  const size_t length = place.length.value_or(size - offset);
  if (length > size - offset)
    return invalid(quoted + ": the tensor has " + std::to_string(length) + " bytes from byte " +
                   std::to_string(offset) + ", the file ends after " + std::to_string(size - offset));
  const bool too_few = length < bytes, too_many = place.length && length > bytes;
  if (too_few || too_many)
    return invalid(quoted + ": the tensor has " + std::to_string(length) + " bytes there, its shape wants " +
                   std::to_string(bytes));
  return Region{std::move(file), offset};
}

}  // namespace plica::onnx
