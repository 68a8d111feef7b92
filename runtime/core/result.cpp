#include "runtime/core/result.h"

namespace plica {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kInvalidModel: return "invalid model";
    case Code::kUnsupported: return "unsupported";
    case Code::kInvalidInput: return "invalid input";
    case Code::kOutOfMemory: return "out of memory";
    case Code::kDeviceError: return "device error";
    case Code::kInternal: return "internal error";
  }
  return "unknown code";
}

Error::Error(Code code, std::string what, std::source_location at) : code_(code), what_(std::move(what)), at_(at) {}

Error&& Error::context(std::string_view doing) && {
  what_.append("\n  while ").append(doing);
  return std::move(*this);
}

std::string to_string(const Error& error) {
  std::string text(name_of(error.code()));
  text.append(": ").append(error.what());
  return text;
}

}  // namespace plica
