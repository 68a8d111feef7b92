#pragma once

#include <atomic>

namespace plica {

// While it lives the first SIGINT or SIGTERM asks for an orderly end; the second ends the process at once. One a process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  const std::atomic<bool>& requested() const;

  // Becomes readable with the signal, so that a wait for input can end; -1 where the system gave none.
  int descriptor() const;
};

}  // namespace plica
