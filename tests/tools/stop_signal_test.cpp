#include "tools/stop_signal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "loaders/array/npz.h"
#include "tests/tools/program.h"

namespace plica {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

bool is_readable(int descriptor) {
  pollfd end{descriptor, POLLIN, 0};
  return ::poll(&end, 1, 0) == 1;
}

void (*handler_of(int signal))(int) {
  struct sigaction action {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

TEST(StopSignal, TheFirstAsksTheSecondEnds) {
  {
    const StopSignal stop;
    EXPECT_FALSE(stop.requested());
    EXPECT_FALSE(is_readable(stop.descriptor()));
    std::raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
    EXPECT_TRUE(is_readable(stop.descriptor()));
    EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  }
  EXPECT_EQ(handler_of(SIGINT), SIG_DFL);
}

// `plica embed` reading from a pipe that stays open.
class Waiting : public testing::Test {
 protected:
  void start(const std::string& fasta) {
    save(language_model(), plica_ / "esm2.onnx");
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    input_ = ends[1];
    pid_ = ::fork();
    if (pid_ == 0) {
      const int err = ::open((plica_ / ".err").c_str(), O_CREAT | O_WRONLY, 0600);
      if (::chdir(plica_.path().c_str()) != 0 || ::dup2(ends[0], 0) < 0 || ::dup2(err, 2) < 0) ::_exit(99);
      ::execl(PLICA_PROGRAM, "plica", "--threads", "1", "embed", "esm2.onnx", "-", "-o", "out.npz", nullptr);
      ::_exit(98);
    }
    ::close(ends[0]);
    for (size_t done = 0; done < fasta.size();) {
      const ssize_t more = ::write(input_, fasta.data() + done, fasta.size() - done);
      ASSERT_GT(more, 0);
      done += static_cast<size_t>(more);
    }
  }
  void TearDown() override { ::close(input_); }

  // Sleeping in four looks one after the other, behind its first words: it waits for input.
  void await_waiting() {
    for (int looks = 0, asleep = 0; asleep < 4 && looks < 1200; ++looks) {
      std::this_thread::sleep_for(50ms);
      const std::string stat = get_file("/proc/" + std::to_string(pid_) + "/stat");
      const bool has_begun = get_file(plica_ / ".err").find("vectors from output") != std::string::npos;
      asleep = has_begun && stat.find(") S ") != std::string::npos ? asleep + 1 : 0;
    }
  }

  // The exit code behind one Ctrl-C; -1 where it goes on for a minute.
  int interrupt() {
    ::kill(pid_, SIGINT);
    for (int looks = 0; looks < 1200; ++looks) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
      std::this_thread::sleep_for(50ms);
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    return -1;
  }

  Program plica_;
  pid_t pid_ = -1;
  int input_ = -1;
};

TEST_F(Waiting, OneSignalEndsTheWaitForTheFirstRecords) {
  start(">a\nMKT\n>b\nMK");
  await_waiting();
  EXPECT_EQ(interrupt(), 2);
  EXPECT_THAT(get_file(plica_ / ".err"), HasSubstr("stopped by a signal"));
  EXPECT_FALSE(plica_.has("out.npz"));
}

TEST_F(Waiting, OneSignalKeepsWhatIsDone) {
  std::string fasta;
  for (int i = 0; i < 8192; ++i) fasta += ">p" + std::to_string(i) + "\nMKTAY\n";
  start(fasta + ">unfinished\nMK");
  await_waiting();
  EXPECT_EQ(interrupt(), 1);
  EXPECT_THAT(get_file(plica_ / ".err"), HasSubstr("stopped by a signal; what was done is written"));
  const auto arrays = read_npz(plica_ / "out.npz");
  ASSERT_TRUE(arrays) << to_string(arrays.error());
  EXPECT_EQ(arrays->size(), 8192u);
}

}  // namespace
}  // namespace plica
