#pragma once
// Checks before each write that a job still has the locks of its folders. A job that was paused, or
// whose folder was moved away, must not write next to the job that came after it. Thread-safe.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace d9d {

class HeldFolders {
 public:
  using OnLost = std::function<void(const std::string& report)>;

  // `on_lost` is called once, on the thread that notices the loss; it should end the process.
  // `now_ns` must be a clock that also runs while the machine sleeps.
  explicit HeldFolders(OnLost on_lost, std::function<std::int64_t()> now_ns = time_since_boot_ns);

  enum class Lock {
    own,       // of this process
    of_other,  // node 0's: if the lock is gone, node 0 has ended and says why
  };
  void hold(const std::string& folder, const std::string& tag, Lock lock = Lock::own);
  void release_all();  // stops all checks
  // Reads the locks, unless they were read within the last second and `always` is false.
  void check(bool always);
  void lost(const std::string& report);  // reports a loss that other code has noticed

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
