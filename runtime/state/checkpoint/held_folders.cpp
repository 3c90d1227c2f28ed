#include "runtime/state/checkpoint/held_folders.hpp"

#include <ctime>
#include <utility>

#include "runtime/state/disk/folder_lock.hpp"

namespace d9d {
namespace {

constexpr std::int64_t ns_of_second = 1'000'000'000;
constexpr std::int64_t checked_for_ns = ns_of_second;

}  // namespace

HeldFolders::HeldFolders(OnLost on_lost, std::function<std::int64_t()> now_ns)
    : on_lost_(std::move(on_lost)), now_ns_(std::move(now_ns)) {}

void HeldFolders::hold(const std::string& folder, const std::string& tag, Lock lock) {
  const std::lock_guard guard(mutex_);
  held_.push_back({folder, tag, lock});
}

void HeldFolders::release_all() {
  const std::lock_guard guard(mutex_);
  held_.clear();
}

void HeldFolders::check(bool always) {
  std::vector<Held> held;
  {
    const std::lock_guard guard(mutex_);
    const std::int64_t now = now_ns_();
    if (held_.empty() || (!always && now - checked_ns_ < checked_for_ns)) return;
    checked_ns_ = now;
    held = held_;
  }
  for (const auto& [folder, tag, lock] : held)
    if (const auto report = loss_of(folder, tag, lock == Lock::own)) return lost(*report);
}

void HeldFolders::lost(const std::string& report) {
  {
    const std::lock_guard guard(mutex_);
    if (held_.empty() || std::exchange(lost_, true)) return;
  }
  on_lost_(report);
}

std::int64_t HeldFolders::time_since_boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * ns_of_second + now.tv_nsec;
}

}  // namespace d9d
