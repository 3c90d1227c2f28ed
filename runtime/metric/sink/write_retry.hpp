#pragma once
// Writing that must not end a training: a disk that fails is reported once, tried again at growing intervals, and
// reported again when it works. What could not be written stays with the caller.

#include <filesystem>
#include <functional>

namespace d9d {

class WriteRetry {
 public:
  explicit WriteRetry(std::filesystem::path path) : path_(std::move(path)) {}

  // Runs `write`; true when it succeeded. After a failure some calls are passed over, the `urgent` ones never.
  // Only environment errors count as failures of the disk; others go on.
  bool attempt(const std::function<void()>& write, bool urgent);
  bool is_failing() const { return failures_ > 0; }

 private:
  const std::filesystem::path path_;
  int failures_ = 0;     // in a row
  int passed_over_ = 0;  // since the last one
};

}  // namespace d9d
