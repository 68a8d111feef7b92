#pragma once

namespace plica {

// While it lives, parallel regions that this thread starts (ours, and those of libraries on OpenMP) have teams of that many threads.
class TeamSize {
 public:
  explicit TeamSize(int num_threads);
  ~TeamSize();
  TeamSize(const TeamSize&) = delete;
  TeamSize& operator=(const TeamSize&) = delete;

 private:
  int before_;
};

}  // namespace plica
