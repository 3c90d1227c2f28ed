#pragma once
// Lets one job at a time use a folder. The file `job.lock` names the holder. It is made in
// one step, also on NFS (a link), refreshed while it is held, and removed at the end.
// Blocks on the disk.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/state/disk/lock_text.hpp"

namespace d9d {

class DiskWatch;

inline constexpr const char* lock_name = "job.lock";

struct LockTimes {
  std::chrono::milliseconds heartbeat{5'000};  // refresh; the lock is checked five times as often
  // A holder whose process cannot be checked (on another host) counts as dead when its lock has not
  // been refreshed for this long.
  std::chrono::milliseconds silence_max{60'000};
};

class FolderLock {
 public:
  // Takes the lock of a folder, which must exist. The lock of a dead process is taken over, with a
  // warning. For a lock of another host the constructor waits until it is refreshed or too old.
  // Environment errors: another job has the folder (says which, and what to do), or the disk fails.
  // `watch` may be null. `on_lost` is called once, on the lock's own thread, with the reason why
  // this holder has lost the folder.
  using OnLost = std::function<void(const std::string& report)>;
  FolderLock(const std::string& folder, const LockHolder& holder, LockTimes times = {},
             DiskWatch* watch = nullptr, OnLost on_lost = {});
  // Removes the lock, unless another job has taken it over.
  ~FolderLock();
  FolderLock(FolderLock&&) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  class Heart;
  std::unique_ptr<Heart> heart_;
};

// Throws FolderLock's environment error if a process that can be checked has the folder. Writes
// nothing and does not wait; leaves a holder on another host to FolderLock.
void require_not_in_use(const std::string& folder);
// Says why the holder with this tag has lost the folder: another one has it, or the lock is gone.
// Nothing while it has the folder, and if the disk does not answer. Never throws.
std::optional<std::string> loss_of(const std::string& folder, const std::string& tag,
                                   bool gone_counts = true);
// Whether this process has the folder.
bool is_held_here(const std::string& folder);
// Returns the holder of the folder; nothing if there is no readable lock.
std::optional<LockHolder> holder_of(const std::string& folder);
// Whether the holder's process still runs. Nothing: it is on another host or in another container.
std::optional<bool> is_running(const LockHolder& holder);

}  // namespace d9d
