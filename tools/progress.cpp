#include "tools/progress.h"

#include <unistd.h>

#include <cstdio>

namespace plica {

Progress::Progress(std::optional<int64_t> num_residues) : total_(num_residues) {}

Progress::~Progress() {
  if (visible_ && shown_ != start_) std::fputs("\r\033[K", stderr);
}

bool Progress::visible() { return ::isatty(STDERR_FILENO) == 1; }

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::add(int64_t num_records, int64_t num_residues) {
  num_records_ += num_records;
  num_residues_ += num_residues;
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  show();
}

void Progress::show() {
  const double rate = static_cast<double>(num_residues_) / seconds();
  std::fprintf(stderr, "\r\033[K%lld records, %lld residues, %.0f residues/s", static_cast<long long>(num_records_),
               static_cast<long long>(num_residues_), rate);
  if (total_ && rate > 0) {
    const auto left = static_cast<long long>(static_cast<double>(*total_ - num_residues_) / rate);
    std::fprintf(stderr, ", %lld:%02lld:%02lld left", left / 3600, left / 60 % 60, left % 60);
  }
  std::fflush(stderr);
}

}  // namespace plica
