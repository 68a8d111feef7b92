#pragma once

#include <cstdint>

namespace plica {

enum class Device : uint8_t { kCpu, kCuda };

// What is stored and what the matrix units use. kFile: the file's own types, fp32 strict.
enum class Precision : uint8_t { kFile, kF32, kTf32, kTf32x3, kBf16, kBf16Mixed, kF16 };

}  // namespace plica
