#pragma once
// Files cannot grow beyond a size: what a full disk does to a process, without one, and taken back at will.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace d9d::test {

// Of another process (or of this one), which has to ignore SIGXFSZ. RLIM_INFINITY: no limit.
inline bool limit_file_size(pid_t process, rlim_t bytes) {
  rlimit limit{bytes, RLIM_INFINITY};
  return ::prlimit(process, RLIMIT_FSIZE, &limit, nullptr) == 0;
}

// Of this process, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_(::signal(SIGXFSZ, SIG_IGN)) {
    limit_file_size(::getpid(), bytes);
  }
  ~FileSizeLimit() {
    limit_file_size(::getpid(), RLIM_INFINITY);
    ::signal(SIGXFSZ, before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace d9d::test
