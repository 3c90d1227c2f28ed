#include "runtime/metric/sink/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

[[noreturn]] void fail_on(const std::filesystem::path& path, std::string_view what) {
  throw Error(ErrorKind::environment,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  std::error_code trouble;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), trouble);
  if (trouble) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot open {}: cannot create its folder: {}; choose another place (output_dir)",
                            path_.string(), trouble.message()));
  }
  const int exclusive = mode == Mode::create_new ? O_EXCL : 0;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | exclusive, 0666);
  if (descriptor_ < 0) fail_on(path_, "open");
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_on(path_, "read the size of");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::replace_tail(std::uint64_t offset, std::string_view text) {
  D9D_CHECK(is_open(), "{} is closed", path_.string());
  D9D_CHECK(offset <= size_, "offset {} of {}, which has {} bytes", offset, path_.string(), size_);
  const std::uint64_t end = offset + text.size();
  std::uint64_t at = offset;
  while (!text.empty()) {
    const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      if (::ftruncate(descriptor_, static_cast<off_t>(offset)) == 0) size_ = offset;
      errno = reason;
      fail_on(path_, "write");
    }
    at += static_cast<std::uint64_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // Cut last: until here a reader sees the old tail or the new bytes, never a file that ends too early.
  if (end < size_ && ::ftruncate(descriptor_, static_cast<off_t>(end)) != 0) fail_on(path_, "cut");
  size_ = end;
}

bool AppendFile::is_disturbed() const {
  struct stat mine {
  }, named{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &mine) != 0) return false;
  if (static_cast<std::uint64_t>(mine.st_size) != size_) return true;
  // An error other than ENOENT says nothing about the file, so it counts as undisturbed.
  if (::stat(path_.c_str(), &named) != 0) return errno == ENOENT;
  return named.st_ino != mine.st_ino || named.st_dev != mine.st_dev;
}

void AppendFile::reopen() {
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_on(path_, "open");
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    fail_on(path_, "read the size of");
  }
  ::close(std::exchange(descriptor_, descriptor));
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void AppendFile::close() {
  if (descriptor_ < 0) return;
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail_on(path_, "close");
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_on(path, "read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path temporary = fmt::format("{}.{}.part", path.string(), ::getpid());
  std::error_code error;
  std::filesystem::remove(temporary, error);
  try {
    AppendFile file(temporary, AppendFile::Mode::create_new);
    file.append(text);
    file.close();
    std::filesystem::rename(temporary, path);
  } catch (const std::filesystem::filesystem_error& caught) {
    std::filesystem::remove(temporary, error);
    throw Error(ErrorKind::environment, fmt::format("cannot replace {}: {}", path.string(), caught.what()));
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
}

}  // namespace d9d
