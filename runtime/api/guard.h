#pragma once

#include <exception>
#include <new>
#include <string>

#include "runtime/core/result.h"

namespace plica {

// Calls fn; no exception leaves: a failed allocation becomes kOutOfMemory, whatever else kInternal.
template <class Fn>
auto guarded(Fn&& fn) noexcept -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    return Error(Code::kOutOfMemory, "the system has no more memory");
  } catch (const std::exception& exception) {
    return Error(Code::kInternal, exception.what());
  }
}

}  // namespace plica
