#pragma once
// An open file of the system that closes itself. Failures are a DiskError with operation and path.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "runtime/state/disk/disk_error.hpp"

namespace d9d {

[[noreturn]] inline void fail_with(const std::string& operation, const std::string& path, int error_number) {
  throw DiskError(operation, path, error_number);
}

class Descriptor {
 public:
  Descriptor(const std::string& operation, const std::string& path, int flags) : path_(path) {
    do fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail_with(operation, path, errno);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  void sync() {
    if (::fsync(fd_) != 0) fail_with("sync", path_, errno);
  }
  void close() {
    const int fd = std::exchange(fd_, -1);
    // Network file systems report a failed write only here.
    if (::close(fd) != 0 && errno != EINTR) fail_with("close", path_, errno);
  }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace d9d
