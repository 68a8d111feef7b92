#pragma once

#include <string>

#include "loaders/onnx/file_bytes.h"
#include "loaders/onnx/module.h"

namespace plica::onnx {

// read_module on bytes at hand. `path` is where they come from, for external data; empty: it is refused.
Result<Module> read_module(const FileBytes& file, const std::string& path, const ReadOptions& options);

}  // namespace plica::onnx
