#include "runtime/state/disk/folder_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/stopped_within.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {
namespace {

constexpr int attempts_max = 200;
constexpr std::chrono::milliseconds between_attempts{20};

// The text of a lock under a temporary name, to be linked to the lock's name in one step.
class Draft {
 public:
  Draft(const std::string& lock, const LockHolder& holder) : path_(lock + "." + holder.tag) {
    const std::string text = to_text(holder);
    PosixDisk disk;
    try {
      const auto file = disk.create(path_);
      file->write(0, text.data(), text.size());
      file->close(true);
    } catch (const Error&) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  ~Draft() { ::unlink(path_.c_str()); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // Returns false if another lock is there.
  bool become(const std::string& lock) const {
    if (::link(path_.c_str(), lock.c_str()) == 0) return true;
    const int error_number = errno;
    struct stat info {};
    // The answer of a network file system may be lost; the count of names says what happened.
    if (::stat(path_.c_str(), &info) == 0 && info.st_nlink == 2) return true;
    if (error_number == EEXIST) return false;
    if (error_number != EPERM && error_number != ENOTSUP && error_number != ENOSYS)
      throw DiskError("make the lock", lock, error_number);
    return copy_to(lock);
  }

  // By the clock of the file system, whose times a lock has.
  double age_of(const struct stat& lock) const {
    struct stat info {};
    const bool known =
        ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0) == 0 && ::stat(path_.c_str(), &info) == 0;
    if (!known) throw DiskError("refresh", path_, errno);
    return static_cast<double>(info.st_mtim.tv_sec - lock.st_mtim.tv_sec) +
           1e-9 * static_cast<double>(info.st_mtim.tv_nsec - lock.st_mtim.tv_nsec);
  }

 private:
  // For a file system without links.
  bool copy_to(const std::string& lock) const {
    const int file = ::open(lock.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) return false;
    if (file < 0) throw DiskError("make the lock", lock, errno);
    ::close(file);
    write_text(disk_, lock, read_lock(path_).value_or(""));
    return true;
  }

  const std::string path_;
  mutable PosixDisk disk_;
};

[[noreturn]] void refuse(const std::string& folder, const LockHolder& holder) {
  throw Error(ErrorKind::environment,
              fmt::format("{} is in use by another job: {}. Wait for its end, or give this job another "
                          "trainer.run.name or output_dir (and save_dir)",
                          folder, describe(holder)));
}

enum class Life { running, gone, unknown };

Life life_of(const LockHolder& holder, const LockHolder& asker) {
  if (holder.machine.empty() || holder.machine != asker.machine) return Life::unknown;
  const auto started = start_of_process(holder.pid);
  return started && *started == holder.started ? Life::running : Life::gone;
}

// Waits for a sign of life of a process that cannot be asked.
Life watch_heartbeat(const std::string& lock, const Draft& draft, const LockTimes& times) {
  struct stat first {};
  if (::stat(lock.c_str(), &first) != 0) return Life::gone;
  const double silence_max = std::chrono::duration<double>(times.silence_max).count();
  for (bool said = false;; said = true) {
    struct stat now {};
    if (::stat(lock.c_str(), &now) != 0) return Life::gone;
    const bool refreshed =
        now.st_mtim.tv_sec != first.st_mtim.tv_sec || now.st_mtim.tv_nsec != first.st_mtim.tv_nsec;
    if (refreshed) return Life::running;
    if (draft.age_of(now) > silence_max) return Life::gone;
    if (!said) {
      log::info("{} is there; waiting up to {} s for a sign of life of the job that made it", lock,
                silence_max);
    }
    std::this_thread::sleep_for(times.heartbeat / 5);
  }
}

// Removes a dead holder's lock. Several processes may find the same lock dead. Only one at a time
// may remove it, and only if the file still has the text that it judged: otherwise the second one
// would remove the lock that the first has made since.
void remove_dead(const std::string& lock, const std::string& judged, const Draft& draft,
                 const LockTimes& times) {
  const std::string guard = lock + ".takeover";
  if (!draft.become(guard)) {
    // Another process removes the lock now. If it was killed meanwhile, its guard is removed when it is old.
    struct stat info {};
    const double silence_max = std::chrono::duration<double>(times.silence_max).count();
    if (::stat(guard.c_str(), &info) == 0 && draft.age_of(info) > silence_max) ::unlink(guard.c_str());
    std::this_thread::sleep_for(between_attempts);
    return;
  }
  if (read_lock(lock) == judged && ::unlink(lock.c_str()) == 0) {
    log::warn("{} was left by a job that is gone ({}); taking it over", lock, describe(holder_from(judged)));
  }
  ::unlink(guard.c_str());
}

// Removes temporary files of processes that were killed before they had the lock. Never throws,
// because the lock is held by then.
void remove_dead_drafts(const std::string& folder, const LockHolder& me) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string path = at->path().string();
    if (!path.starts_with(join_path(folder, lock_name) + ".")) continue;
    try {
      const auto text = read_lock(path);
      if (text && life_of(holder_from(*text), me) == Life::gone) ::unlink(path.c_str());
    } catch (const Error&) {  // what cannot be read stays
    }
  }
}

void acquire(const std::string& folder, const LockHolder& me, const LockTimes& times) {
  const std::string lock = join_path(folder, lock_name);
  const Draft draft(lock, me);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    if (draft.become(lock)) return remove_dead_drafts(folder, me);
    const auto text = read_lock(lock);
    if (!text) continue;
    const LockHolder holder = holder_from(*text);
    Life life = life_of(holder, me);
    if (life == Life::unknown) life = watch_heartbeat(lock, draft, times);
    if (life == Life::running) refuse(folder, holder);
    remove_dead(lock, *text, draft, times);
  }
  throw Error(ErrorKind::environment,
              fmt::format("{} cannot be taken: other jobs take it again and again", lock));
}

}  // namespace

// Refreshes the lock while it is held, and looks after it.
class FolderLock::Heart {
 public:
  Heart(std::string folder, const LockHolder& holder, LockTimes times, DiskWatch* watch, OnLost on_lost)
      : folder_(std::move(folder)),
        lock_(join_path(folder_, lock_name)),
        tag_(holder.tag),
        times_(times),
        watch_(watch),
        on_lost_(std::move(on_lost)),
        thread_([this](const std::stop_token& stop) { beat(stop); }) {}
  ~Heart() {
    thread_.request_stop();
    thread_.join();
    if (is_mine()) ::unlink(lock_.c_str());
  }
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

 private:
  void beat(const std::stop_token& stop) {
    int looks = 0;
    while (!stopped_within(stop, times_.heartbeat / looks_per_heartbeat)) {
      looks = (looks + 1) % looks_per_heartbeat;
      const auto loss = look(looks == 0);
      if (loss) return on_lost_ ? on_lost_(*loss) : log::error("{}", *loss);
    }
  }

  // Why the lock is lost.
  std::optional<std::string> look(bool refresh) {
    std::optional<DiskWatch::Call> call;
    if (watch_ != nullptr) call.emplace(*watch_, "refresh", lock_, DiskWatch::Access::read);
    auto loss = loss_of(folder_, tag_);
    if (!loss && refresh) ::utimensat(AT_FDCWD, lock_.c_str(), nullptr, 0);
    return loss;
  }

  bool is_mine() const {
    try {
      const auto holder = holder_of(folder_);
      return holder && holder->tag == tag_;
    } catch (const Error&) {
      return false;
    }
  }

  static constexpr int looks_per_heartbeat = 5;
  const std::string folder_, lock_, tag_;
  const LockTimes times_;
  DiskWatch* const watch_;
  const OnLost on_lost_;
  std::jthread thread_;
};

FolderLock::FolderLock(const std::string& folder, const LockHolder& holder, LockTimes times, DiskWatch* watch,
                       OnLost on_lost) {
  acquire(folder, holder, times);
  heart_ = std::make_unique<Heart>(folder, holder, times, watch, std::move(on_lost));
}

FolderLock::~FolderLock() = default;
FolderLock::FolderLock(FolderLock&&) noexcept = default;

void require_not_in_use(const std::string& folder) {
  const auto holder = holder_of(folder);
  if (holder && life_of(*holder, LockHolder::this_process("", "")) == Life::running) refuse(folder, *holder);
}

std::optional<std::string> loss_of(const std::string& folder, const std::string& tag, bool gone_counts) {
  const std::string lock = join_path(folder, lock_name);
  std::optional<std::string> text;
  try {
    text = read_lock(lock);
  } catch (const Error&) {  // a disk that fails for a moment is no reason to stop
    return {};
  }
  if (!text && !gone_counts) return {};
  if (!text) {
    return fmt::format(
        "{} is gone: the folder was moved or removed while this job was writing to it, or somebody removed "
        "the lock. Another job may write there now, so this one writes nothing more and ends; start it "
        "again, and it goes on from its last checkpoint",
        lock);
  }
  const LockHolder holder = holder_from(*text);
  if (holder.tag == tag) return {};
  return fmt::format(
      "{} was taken over by another job ({}), which this one did not hinder: its folder was moved or "
      "removed, or it gave no sign of life for a while. It writes nothing more there and ends",
      lock, describe(holder));
}

bool is_held_here(const std::string& folder) {
  const auto holder = holder_of(folder);
  if (!holder) return false;
  const LockHolder me = LockHolder::this_process("", "");
  return holder->machine == me.machine && holder->pid == me.pid && holder->started == me.started;
}

std::optional<LockHolder> holder_of(const std::string& folder) {
  const auto text = read_lock(join_path(folder, lock_name));
  if (!text) return {};
  LockHolder holder = holder_from(*text);
  return holder.tag.empty() ? std::nullopt : std::optional(std::move(holder));
}

std::optional<bool> is_running(const LockHolder& holder) {
  const Life life = life_of(holder, LockHolder::this_process({}, {}));
  if (life == Life::unknown) return std::nullopt;
  return life == Life::running;
}

}  // namespace d9d
