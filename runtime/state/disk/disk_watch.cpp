#include "runtime/state/disk/disk_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/stopped_within.hpp"

namespace d9d {
namespace {

constexpr int looks_per_limit = 10;  // within the limit

}  // namespace

DiskWatch::DiskWatch(std::chrono::milliseconds limit, OnHang on_hang)
    : limit_(limit),
      on_hang_(std::move(on_hang)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void DiskWatch::run(const std::stop_token& stop) {
  while (!stopped_within(stop, limit_ / looks_per_limit)) {
    std::unique_lock lock(mutex_);
    for (auto& [id, call] : calls_) ++call.periods;
    const auto hung = std::find_if(calls_.begin(), calls_.end(),
                                   [](const auto& entry) { return entry.second.periods > looks_per_limit; });
    if (hung == calls_.end()) continue;
    const std::string report = report_of(hung->second);
    lock.unlock();  // on_hang may call the disk itself, and each call locks the mutex
    return on_hang_(report);
  }
}

std::string DiskWatch::report_of(const Running& call) const {
  return fmt::format(
      "the disk hangs: the call to {} {} has not returned for {} s. Look after the disk or the network it is "
      "reached by, then start the job again: it goes on from its last checkpoint. For a disk that is only "
      "slow raise node.disk_timeout",
      call.operation, call.path, std::chrono::duration<double>(limit_).count());
}

DiskWatch::Call::Call(DiskWatch& watch, const char* operation, const std::string& path, Access access)
    : watch_(watch) {
  {
    const std::lock_guard lock(watch_.mutex_);
    id_ = watch_.next_id_++;
    watch_.calls_.emplace(id_, Running{operation, path});
  }
  if (watch_.before_call_) watch_.before_call_(access);
}

DiskWatch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.calls_.erase(id_);
}

}  // namespace d9d
