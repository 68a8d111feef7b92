#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace plica {

// A line on stderr that is written over and over, where stderr is a terminal: records, residues/s, time left.
class Progress {
 public:
  // `num_residues` of the whole job, where they are known.
  explicit Progress(std::optional<int64_t> num_residues);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(int64_t num_records, int64_t num_residues);
  double seconds() const;

  static bool visible();

 private:
  void show();

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
  std::optional<int64_t> total_;
  int64_t num_records_ = 0;
  int64_t num_residues_ = 0;
  bool visible_ = visible();
};

}  // namespace plica
