#include "runtime/base/log_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::log {
namespace {

constexpr std::size_t early_max = 1000;

}  // namespace

LogCopy::~LogCopy() {
  close_file();
}

void LogCopy::open(const std::filesystem::path& file, std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  close_file();
  path_ = file;
  bytes_max_ = bytes_max;
  over_ = false;
  open_file();
  for (const std::string& line : early_) put(line);
  early_.clear();
}

void LogCopy::close() {
  const std::lock_guard lock(mutex_);
  close_file();
  early_.clear();
  over_ = true;
}

void LogCopy::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  if (file_ >= 0) return put({line.data(), line.size()});
  if (!over_ && early_.size() < early_max) early_.emplace_back(line.data(), line.size());
}

void LogCopy::open_file() {
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot write the log to {}: {}", path_.string(), std::strerror(errno)));
  }
  struct stat info {};
  size_ = ::fstat(file_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

void LogCopy::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

// One call, so that lines of several processes stay whole.
void LogCopy::put(std::string_view line) {
  if (size_ >= bytes_max_) {
    std::error_code ignored;
    std::filesystem::path before = path_;
    before.replace_extension(".1" + path_.extension().string());
    std::filesystem::rename(path_, before, ignored);
    close_file();
    try {
      open_file();
    } catch (const Error&) {  // the log itself is no place to say it
      return;
    }
  }
  const ssize_t written = ::write(file_, line.data(), line.size());
  if (written > 0) size_ += static_cast<std::uint64_t>(written);
}

}  // namespace d9d::log
