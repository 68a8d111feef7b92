#include "runtime/core/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace plica {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error(Code::kInvalidInput, std::to_string(x) + " is odd");
  return x / 2;
}

Result<int> quarter(int x) {
  PLICA_TRY(const int first, half(x));
  PLICA_TRY(const int second, half(first));
  return second;
}

Status check(int x) {
  PLICA_CHECK(quarter(x).context("quartering " + std::to_string(x)));
  return {};
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*quarter(12), 3);
  const auto bad = quarter(6);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().what(), "3 is odd");
  EXPECT_EQ(bad.error().code(), Code::kInvalidInput);
}

TEST(Result, ContextIsAChain) {
  EXPECT_TRUE(check(12));
  const Status bad = check(6);
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_string(bad.error()), "invalid input: 3 is odd\n  while quartering 6");
}

TEST(Result, ErrorsKnowWhereTheyArose) {
  const auto bad = half(3);
  EXPECT_NE(std::string(bad.error().at().file_name()).find("result_test.cpp"), std::string::npos);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(4);
  ASSERT_TRUE(made);
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 4);
}

TEST(Result, EveryCodeHasAName) {
  for (Code code : {Code::kInvalidModel, Code::kUnsupported, Code::kInvalidInput, Code::kOutOfMemory,
                    Code::kDeviceError, Code::kInternal})
    EXPECT_NE(name_of(code), "unknown code");
}

}  // namespace
}  // namespace plica
