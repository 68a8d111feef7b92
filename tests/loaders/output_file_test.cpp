#include "loaders/file/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/temp_folder.h"

namespace plica {
namespace {

using testing::HasSubstr;

TEST(OutputFile, AppearsOnlyWhenComplete) {
  TempFolder folder;
  put_file(folder / "x", "old");
  {
    auto file = OutputFile::create(folder / "x");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new"));
  }
  EXPECT_EQ(get_file(folder / "x"), "old");
  EXPECT_EQ(folder.num_files(), 1u);
  ASSERT_TRUE(write_file(folder / "x", "new"));
  EXPECT_EQ(get_file(folder / "x"), "new");
  EXPECT_EQ(folder.num_files(), 1u);
}

TEST(OutputFile, AKilledProcessLeavesNothing) {
  TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = OutputFile::create(folder / "x");
    (void)file->write(std::string(1000000, 'd'));
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(OutputFile, OverwritesInPlace) {
  TempFolder folder;
  auto file = OutputFile::create(folder / "x");
  ASSERT_TRUE(file->write("abc"));
  ASSERT_TRUE(file->overwrite(1, "Z", 1));
  ASSERT_TRUE(file->write(std::string(100000, 'd')));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(get_file(folder / "x"), "aZc" + std::string(100000, 'd'));
}

TEST(OutputFile, AFullDiskIsAnError) {
  auto file = OutputFile::create("/dev/full");
  ASSERT_TRUE(file) << to_string(file.error());
  Status status = file->write("x");
  if (status) status = file->commit();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kInvalidInput);
  EXPECT_THAT(status.error().what(), HasSubstr("cannot write '/dev/full': No space left"));
}

TEST(OutputFile, AnUnwritableFolderIsAnError) {
  EXPECT_THAT(OutputFile::create("/nowhere/x").error().what(), HasSubstr("cannot write '/nowhere/x': No such file"));
  TempFolder folder;
  EXPECT_FALSE(write_file(folder.path() + "/", "x"));
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ::chmod(folder.path().c_str(), 0500);
  EXPECT_THAT(OutputFile::create(folder / "x").error().what(), HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace plica
