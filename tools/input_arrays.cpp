#include "tools/input_arrays.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <type_traits>

#include "loaders/array/npz.h"
#include "loaders/onnx/tensor_proto.h"
#include "runtime/core/dtype.h"
#include "runtime/core/result.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

std::string names_of(const std::vector<TensorInfo>& inputs) {
  std::string text;
  for (const TensorInfo& info : inputs) text += (text.empty() ? "" : ", ") + info.name;
  return text;
}

bool is_mask(const TensorInfo& info) { return info.name.find("mask") != std::string::npos; }

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BF16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// What an element of an input is: `unit` is random in [0, 1), `tail` says that it is in the last quarter of its row, which
// stands for padding.
double value_of(const TensorInfo& info, bool has_mask, double unit, bool tail) {
  constexpr double kPad = 1;  // of ESM; any other vocabulary has it too
  if (is_mask(info)) return tail == (info.name.find("padding") != std::string::npos) ? 1 : 0;
  if (info.name.find("type") != std::string::npos) return 0;
  if (is_float(info.dtype)) return unit * 2 - 1;
  if (info.dtype == DType::kBool) return unit < 0.5 ? 0 : 1;
  return tail && !has_mask ? kPad : static_cast<double>(4 + static_cast<int>(unit * 16));
}

// NumPy has no bf16, and what is kept as f32 shall serve a model of 16 bits too: such arrays are rounded.
Result<Tensor> as_wanted(Tensor tensor, DType wanted) {
  if (tensor.dtype() != DType::kF32 || (wanted != DType::kF16 && wanted != DType::kBF16)) return tensor;
  PLICA_TRY(Tensor rounded, Tensor::zeros(wanted, tensor.shape()));
  const auto* from = tensor.as<float>();
  for (int64_t i = 0; i < num_elements(tensor.shape()); ++i) {
    if (wanted == DType::kF16)
      rounded.as<F16>()[i] = to_f16(from[i]);
    else
      rounded.as<BF16>()[i] = to_bf16(from[i]);
  }
  return rounded;
}

}  // namespace

Result<std::vector<Tensor>> read_numbered(const std::string& folder, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = (std::filesystem::path(folder) / (prefix + "_" + std::to_string(i) + ".pb")).string();
    if (!std::filesystem::exists(path)) return tensors;
    PLICA_TRY(onnx::NamedTensor named, onnx::read_tensor_file(path));
    tensors.push_back(std::move(named.tensor));
  }
}

Result<TensorMap> read_inputs(const std::string& path, const std::vector<TensorInfo>& inputs) {
  TensorMap out;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    PLICA_TRY(std::vector<Tensor> tensors, read_numbered(path, "input"));
    if (tensors.size() != inputs.size())
      return Error(Code::kInvalidInput, "'" + path + "' holds " + std::to_string(tensors.size()) +
                                            " files input_N.pb; the model has " + std::to_string(inputs.size()) +
                                            " inputs: " + names_of(inputs));
    for (size_t i = 0; i < tensors.size(); ++i) out.emplace(inputs[i].name, std::move(tensors[i]));
    return out;
  }
  PLICA_TRY(auto arrays, read_npz(path));
  for (auto& [name, tensor] : arrays) {
    const auto info = std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo& i) { return i.name == name; });
    if (info != inputs.end()) {
      PLICA_TRY(tensor, as_wanted(std::move(tensor), info->dtype));
    }
    out.emplace(std::move(name), std::move(tensor));
  }
  return out;
}

Result<std::vector<Tensor>> in_order(const TensorMap& arrays, const std::vector<TensorInfo>& inputs) {
  std::vector<Tensor> tensors;
  for (const TensorInfo& info : inputs) {
    const auto found = arrays.find(info.name);
    if (found == arrays.end())
      return Error(Code::kInvalidInput, "input '" + info.name + "' is missing; wanted: " + names_of(inputs));
    tensors.push_back(found->second);
  }
  return tensors;
}

Result<TensorMap> make_inputs(const std::vector<TensorInfo>& inputs, const std::vector<Shape>& shapes) {
  std::mt19937 random(1);
  TensorMap out;
  const bool has_mask = std::any_of(inputs.begin(), inputs.end(), is_mask);
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLICA_TRY(Tensor tensor, Tensor::zeros(inputs[i].dtype, shapes[i]));
    const int64_t columns = shapes[i].empty() ? 1 : shapes[i].back();
    visit_dtype(inputs[i].dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t at = 0; at < num_elements(shapes[i]); ++at) {
        const double unit = static_cast<double>(random()) / 4294967296.0;
        tensor.as<T>()[at] = from_double<T>(value_of(inputs[i], has_mask, unit, at % columns >= columns - columns / 4));
      }
    });
    out.emplace(inputs[i].name, std::move(tensor));
  }
  return out;
}

}  // namespace plica
