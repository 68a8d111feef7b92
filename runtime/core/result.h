#pragma once

#include "plica/error.h"

#define PLICA_CONCAT_(a, b) a##b
#define PLICA_CONCAT(a, b) PLICA_CONCAT_(a, b)

// PLICA_TRY(auto x, expr): binds the value of a Result, or returns its Error from this function.
#define PLICA_TRY(decl, expr)                                                                      \
  auto PLICA_CONCAT(plica_try_, __LINE__) = (expr);                                                \
  if (!PLICA_CONCAT(plica_try_, __LINE__)) return PLICA_CONCAT(plica_try_, __LINE__).take_error(); \
  decl = *std::move(PLICA_CONCAT(plica_try_, __LINE__))

// PLICA_CHECK(expr): returns the Error of a Status from this function.
#define PLICA_CHECK(expr)                                                         \
  do {                                                                            \
    if (auto plica_check = (expr); !plica_check) return plica_check.take_error(); \
  } while (false)
