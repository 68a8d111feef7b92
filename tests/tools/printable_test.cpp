#include "tools/printable.h"

#include <gtest/gtest.h>

namespace plica {
namespace {

TEST(Printable, KeepsTextAndEscapesControls) {
  EXPECT_EQ(printable("sp|P1|A \xc3\xa9"), "sp|P1|A \xc3\xa9");
  EXPECT_EQ(printable("a\x1b[31m\x07\x7f\r"), "a\\x1b[31m\\x07\\x7f\\x0d");
  EXPECT_EQ(printable("a\n\tb"), "a\\x0a\\x09b");
  EXPECT_EQ(printable("a\n\tb\x1b", Lines::kKeep), "a\n\tb\\x1b");
  EXPECT_EQ(printable("\xc2\x9b"), "\xc2\\x9b");
}

}  // namespace
}  // namespace plica
