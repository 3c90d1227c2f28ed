#pragma once
// The folders that a job may write to as long as their lock is its own, asked before each write: a job that was paused, or
// whose folder was moved away, must not write beside the next one. Thread-safe.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace d9d {

class HeldFolders {
 public:
  using OnLost = std::function<void(const std::string& report)>;

  // `on_lost` is called once, on the thread that found out; it is meant to end the process. `now_ns`: a clock that also
  // runs while the machine sleeps.
  explicit HeldFolders(OnLost on_lost, std::function<std::int64_t()> now_ns = time_since_boot_ns);

  enum class Lock {
    own,       // of this process
    of_other,  // of node 0: where it is gone, that one has ended, and says why
  };
  void hold(const std::string& folder, const std::string& tag, Lock lock = Lock::own);
  void release_all();  // from now on nothing is asked
  // Reads the locks, unless they were read within the last second and `always` is not set.
  void check(bool always);
  void lost(const std::string& report);  // as found by somebody else

  static std::int64_t time_since_boot_ns();

 private:
  struct Held {
    std::string folder, tag;
    Lock lock;
  };

  const OnLost on_lost_;
  const std::function<std::int64_t()> now_ns_;
  std::mutex mutex_;
  std::vector<Held> held_;
  std::int64_t checked_ns_ = 0;
  bool lost_ = false;
};

}  // namespace d9d
