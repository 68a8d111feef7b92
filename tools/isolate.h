#pragma once

#include <functional>
#include <string>

namespace plica {

// What a child process did with its work.
struct IsolatedResult {
  bool ended = false;  // normally; otherwise `text` says how it died
  std::string text;    // what the work returned
};

// Runs `work` in a forked child, so that a crash stays there; after `seconds` the child is killed. Fork before any thread
// pool of this process has started.
IsolatedResult run_isolated(const std::function<std::string()>& work, int seconds);

}  // namespace plica
