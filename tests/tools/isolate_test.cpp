#include "tools/isolate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace plica {
namespace {

using testing::HasSubstr;

TEST(Isolate, GivesWhatTheWorkReturns) {
  const IsolatedResult result = run_isolated([] { return std::string(100000, 'x'); }, 60);
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.text.size(), 100000u);
}

TEST(Isolate, ACrashStaysInTheChild) {
  const auto crash = [] {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return std::string();
  };
  const IsolatedResult result = run_isolated(crash, 60);
  EXPECT_FALSE(result.ended);
  EXPECT_THAT(result.text, HasSubstr("crashed: Segmentation fault"));
}

TEST(Isolate, WhatTakesTooLongIsKilled) {
  const auto sleep = [] {
    ::sleep(100);
    return std::string();
  };
  const IsolatedResult result = run_isolated(sleep, 1);
  EXPECT_FALSE(result.ended);
  EXPECT_THAT(result.text, HasSubstr("took more than 1 s"));
}

TEST(Isolate, AnExitCodeIsTold) {
  const auto leave = []() -> std::string { ::_exit(3); };
  EXPECT_THAT(run_isolated(leave, 60).text, HasSubstr("exit code 3"));
}

}  // namespace
}  // namespace plica
