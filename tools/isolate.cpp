#include "tools/isolate.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace plica {
namespace {

[[noreturn]] void be_child(const std::function<std::string()>& work, int pipe_end) {
  const std::string text = work();
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(pipe_end, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  std::fflush(nullptr);
  ::_exit(0);
}

// Reads until the child closes its end; false after the deadline.
bool read_all(int pipe_end, std::chrono::steady_clock::time_point deadline, std::string& text) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd poll_end{pipe_end, POLLIN, 0};
    const int ready = ::poll(&poll_end, 1, static_cast<int>(left));
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(pipe_end, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

IsolatedResult run_isolated(const std::function<std::string()>& work, int seconds) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, std::string("no pipe: ") + std::strerror(errno)};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return {false, std::string("cannot fork: ") + std::strerror(errno)};
  }
  if (child == 0) be_child(work, ends[1]);
  ::close(ends[1]);
  IsolatedResult result;
  const bool in_time = read_all(ends[0], std::chrono::steady_clock::now() + std::chrono::seconds(seconds), result.text);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return {false, "took more than " + std::to_string(seconds) + " s"};
  if (WIFSIGNALED(status)) return {false, std::string("crashed: ") + ::strsignal(WTERMSIG(status))};
  result.ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!result.ended) result.text = "ended with exit code " + std::to_string(WEXITSTATUS(status));
  return result;
}

}  // namespace plica
