#include <chrono>

#include "loaders/onnx/lower.h"
#include "plica/model.h"
#include "runtime/api/guard.h"
#include "runtime/api/model_state.h"

namespace plica {
namespace {

Result<Model> load_onnx(const std::string& path, LoadOptions options) {
  const auto start = std::chrono::steady_clock::now();
  PLICA_TRY(onnx::Module read, onnx::read_module(path, {.map_files = options.map_files}));
  const auto module = std::make_shared<const onnx::Module>(std::move(read));
  PLICA_CHECK(onnx::check_operators(*module));
  if (options.log)
    for (const std::string& warning : module->warnings) options.log(LogLevel::kWarning, warning);
  const std::chrono::duration<double, std::milli> load_ms = std::chrono::steady_clock::now() - start;
  const LoadStats stats{load_ms.count(), module->bytes_mapped, module->bytes_copied};
  return Model::State::make(onnx::make_source(module), std::move(options), stats);
}

}  // namespace

Result<Model> Model::load(const std::string& path, LoadOptions options) {
  return guarded([&] { return load_onnx(path, std::move(options)).context("loading '" + path + "'"); });
}

}  // namespace plica
