#pragma once
// One job at a time in a folder: the file `job.lock` says who has it. Made in one step also on NFS (a link),
// kept fresh while it is held, removed at the end. Blocks on the disk.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace d9d {

class DiskWatch;

inline constexpr const char* lock_name = "job.lock";

struct LockHolder {
  std::string host;
  std::string machine;  // boot id and pid namespace: only where both are equal a pid says anything
  long pid = 0;
  std::string started;  // of the process, in the kernel's ticks: a pid is used again
  std::string run;
  std::string tag;    // random per job start
  std::string since;  // for people

  static LockHolder this_process(const std::string& run, const std::string& tag);
};

struct LockTimes {
  std::chrono::milliseconds heartbeat{5'000};  // the lock is looked at five times as often
  // A holder that cannot be asked (another host's) is taken
  // for dead when its lock was not refreshed for so long.
  std::chrono::milliseconds silence_max{60'000};
};

class FolderLock {
 public:
  // The folder must exist. A lock of a process that is gone is taken over, with a warning; for one of another
  // host this waits until it is refreshed or too old. Environment errors: another job has the folder (says
  // which, and what to do), or the disk fails. `watch` may be null. `on_lost` hears once, on the lock's own thread, why
  // the folder is no longer this holder's.
  using OnLost = std::function<void(const std::string& report)>;
  FolderLock(const std::string& folder, const LockHolder& holder, LockTimes times = {},
             DiskWatch* watch = nullptr, OnLost on_lost = {});
  // Removes the lock, unless another has taken it.
  ~FolderLock();
  FolderLock(FolderLock&&) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  class Heart;
  std::unique_ptr<Heart> heart_;
};

// Environment error, as FolderLock's, when a process that can be asked has the folder. Nothing is written,
// and it does not wait: a holder on another host is left to FolderLock.
void require_not_in_use(const std::string& folder);
// Why the folder is no longer that of the holder with this tag: another one has it, or the lock is gone. Nothing while it
// is, and where the disk does not answer. Never throws.
std::optional<std::string> loss_of(const std::string& folder, const std::string& tag,
                                   bool gone_counts = true);
// Whether this very process has the folder.
bool is_held_here(const std::string& folder);
// Who has the folder; nothing where there is no lock, or none that can be read as one.
std::optional<LockHolder> holder_of(const std::string& folder);
// Of a process that this one can ask: whether it still runs. Nothing: it is on another host, or in another container.
std::optional<bool> is_running(const LockHolder& holder);

}  // namespace d9d
