#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "loaders/array/npz.h"
#include "plica/tensor.h"

namespace plica {

using Tensors = std::map<std::string, Tensor>;

// The arrays of models/PATH; a failure of the running test where it cannot be read.
inline Tensors read_recorded(const std::string& path) {
  auto arrays = read_npz(PLICA_SOURCE_DIR "/models/" + path);
  EXPECT_TRUE(arrays) << (arrays ? "" : to_string(arrays.error()));
  return arrays ? Tensors(arrays->begin(), arrays->end()) : Tensors{};
}

}  // namespace plica
