#include "runtime/device/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace plica {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

int affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  cpu_set_t* large = CPU_ALLOC(65536);  // more processors than cpu_set_t holds
  if (large == nullptr) return 1;
  const size_t bytes = CPU_ALLOC_SIZE(65536);
  CPU_ZERO_S(bytes, large);
  const int count = sched_getaffinity(0, bytes, large) == 0 ? CPU_COUNT_S(bytes, large) : 1;
  CPU_FREE(large);
  return count;
}

// cpu.max of version 2: "max 100000" or "150000 100000".
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kNoQuota;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return kNoQuota;
  return quota / period;
}

// The least quota of the groups this process is in and of those above them.
double quota() {
  const std::string root = "/sys/fs/cgroup";
  double least = std::min({quota_v2(root), quota_v1(root + "/cpu"), quota_v1(root + "/cpu,cpuacct")});
  std::ifstream groups("/proc/self/cgroup");  // "0::/user.slice/a" or "4:cpu,cpuacct:/docker/b"
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    for (; path.size() > 1; path.resize(path.rfind('/'))) {
      if (controllers.empty()) least = std::min(least, quota_v2(root + path));
      if (controllers.find("cpu") != std::string::npos)
        least = std::min(least, quota_v1(root + "/" + controllers + path));
    }
  }
  return least;
}

}  // namespace

int num_processors() {
  const double by_quota = std::ceil(quota());
  const int by_affinity = affinity();
  return std::max(1, by_quota < by_affinity ? static_cast<int>(by_quota) : by_affinity);
}

}  // namespace plica
