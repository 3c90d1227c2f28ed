#pragma once
// Writes without ever ending a training. A failing disk is reported once, tried again at
// growing intervals, and reported again when it works. The caller keeps the values that
// could not be written.

#include <filesystem>
#include <functional>

namespace d9d {

class WriteRetry {
 public:
  explicit WriteRetry(std::filesystem::path path) : path_(std::move(path)) {}

  // Runs `write` and returns true if it succeeded. After a failure some calls are skipped,
  // but never `urgent` ones. Only environment errors count as failures of the disk; other
  // errors are thrown on.
  bool attempt(const std::function<void()>& write, bool urgent);
  bool is_failing() const { return failures_ > 0; }

 private:
  const std::filesystem::path path_;
  int failures_ = 0;     // in a row
  int passed_over_ = 0;  // since the last one
};

}  // namespace d9d
