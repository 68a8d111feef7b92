#include "tools/stop_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace plica {
namespace {

std::atomic<bool> stop_requested = false;
int stop_pipe[2] = {-1, -1};

void request_stop(int) {
  const int error_number = errno;
  stop_requested = true;
  [[maybe_unused]] const ssize_t written = ::write(stop_pipe[1], "", 1);
  errno = error_number;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = false;
  if (::pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) stop_pipe[0] = stop_pipe[1] = -1;
  handle(request_stop);
}

StopSignal::~StopSignal() {
  handle(SIG_DFL);
  for (int& end : stop_pipe) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

const std::atomic<bool>& StopSignal::requested() const { return stop_requested; }

int StopSignal::descriptor() const { return stop_pipe[0]; }

}  // namespace plica
