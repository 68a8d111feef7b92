#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "plica/export.h"

namespace plica {

enum class Code {
  kInvalidModel,  // the model file breaks a rule of its format
  kUnsupported,   // the model is valid, but asks for what this build cannot do
  kInvalidInput,  // what the caller gave: a tensor, a record, an option, a path
  kOutOfMemory,
  kDeviceError,
  kInternal,  // a fault of Plica itself
};

PLICA_API std::string_view name_of(Code code);  // "invalid model", ...

// What went wrong, where in Plica's code, and the chain of what was being done (innermost first).
class [[nodiscard]] PLICA_API Error {
 public:
  Error(Code code, std::string what, std::source_location at = std::source_location::current());

  // Adds "while <doing>" to the chain.
  Error&& context(std::string_view doing) &&;

  Code code() const { return code_; }
  const std::string& what() const { return what_; }  // the message and its chain, one line each
  const std::source_location& at() const { return at_; }

 private:
  Code code_;
  std::string what_;
  std::source_location at_;
};

// "invalid model: <what>", with the chain on lines of its own.
PLICA_API std::string to_string(const Error& error);

// A value, or the Error that kept us from having one.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return v_.index() == 0; }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Error& error() const { return std::get<1>(v_); }
  Error take_error() { return std::move(std::get<1>(v_)); }

  Result&& context(std::string_view doing) && {
    if (v_.index() == 1) std::move(std::get<1>(v_)).context(doing);
    return std::move(*this);
  }

 private:
  std::variant<T, Error> v_;
};

// Nothing, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }
  Error take_error() { return std::move(*error_); }

  Result&& context(std::string_view doing) && {
    if (error_) std::move(*error_).context(doing);
    return std::move(*this);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace plica
