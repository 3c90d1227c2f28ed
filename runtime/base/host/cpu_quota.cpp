#include "runtime/base/host/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "runtime/base/host/control_groups.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double number = 0;
  if (!(in >> number)) return {};
  return number;
}

std::optional<double> quota_in(const fs::path& folder, bool second) {
  if (!second) {
    const auto quota = number_in(folder / "cpu.cfs_quota_us"),
               period = number_in(folder / "cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) return {};
    return *quota / *period;
  }
  std::ifstream in(folder / "cpu.max");  // "max 100000" or "50000 100000"
  double quota = 0, period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    const auto quota = quota_in(group.folder, group.second);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

int whole_cores(int visible, std::optional<double> quota) {
  // Threads wait for each other: one more than the quota covers is waited for by all while it is throttled.
  const int covered = quota ? static_cast<int>(std::min(*quota, 1e6)) : visible;
  return std::max(1, std::min(visible, covered));
}

int usable_cores() {
  return whole_cores(static_cast<int>(std::thread::hardware_concurrency()), cpu_quota());
}

}  // namespace d9d
