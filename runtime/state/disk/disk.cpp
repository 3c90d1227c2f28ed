#include "runtime/state/disk/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"
#include "runtime/state/disk/descriptor.hpp"
#include "runtime/state/disk/disk_error.hpp"
#include "runtime/state/disk/posix_write_file.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& operation, const std::string& path, int error_number) {
  const char* hint = "";
  if (error_number == ENOSPC || error_number == EDQUOT) hint = "; free some space or choose another folder";
  if (error_number == EFBIG) hint = "; the limit is `ulimit -f`";
  return fmt::format("cannot {} {}: {}{}", operation, path, std::generic_category().message(error_number),
                     hint);
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a named pipe";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

class PosixReadFile final : public ReadFile {
 public:
  // Without O_NONBLOCK a named pipe would be waited for, until somebody writes into it.
  explicit PosixReadFile(const std::string& path) : file_("open", path, O_RDONLY | O_NONBLOCK) {
    struct stat info {};
    if (::fstat(file_.fd(), &info) != 0) fail_with("inspect", path, errno);
    if (S_ISDIR(info.st_mode))
      throw Error(ErrorKind::environment, fmt::format("{} is a folder, not a regular file", path));
    D9D_REQUIRE(S_ISREG(info.st_mode),
                "{} is {}, not a regular file; give a file that can be read at any place", path,
                kind_of(info.st_mode));
    size_ = static_cast<std::uint64_t>(info.st_size);
  }

  const std::string& path() const override { return file_.path(); }
  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, void* into, std::size_t bytes) const override {
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
      const auto got = ::pread(file_.fd(), at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with("read", path(), errno);
      if (got == 0)
        throw Error(ErrorKind::environment,
                    fmt::format("{} ends at byte {}, but {} more bytes were expected: it was cut short",
                                path(), offset, bytes));
      at += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace

DiskError::DiskError(const std::string& operation, const std::string& path, int error_number)
    : Error(ErrorKind::environment, text_of(operation, path, error_number)), error_number_(error_number) {}

bool DiskError::is_missing() const {
  return error_number_ == ENOENT || error_number_ == ENOTDIR || error_number_ == EISDIR;
}

bool says_disk_is_full(const std::string& text) {
  return text.find(std::generic_category().message(ENOSPC)) != std::string::npos ||
         text.find(std::generic_category().message(EDQUOT)) != std::string::npos;
}

std::unique_ptr<ReadFile> PosixDisk::open(const std::string& path) const {
  return std::make_unique<PosixReadFile>(path);
}

std::unique_ptr<WriteFile> PosixDisk::create(const std::string& path) {
  return std::make_unique<PosixWriteFile>(path);
}

void PosixDisk::make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_with("make the folder", path, error.value());
}

void PosixDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_with("rename to " + to + " the path", from, errno);
}

void PosixDisk::exchange(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail_with("exchange with " + b + " the path", a, errno);
  // Network file systems cannot: for a moment `b` has no name.
  const std::string aside = a + ".aside";
  rename(b, aside);
  rename(a, b);
  rename(aside, a);
}

void PosixDisk::sync_directory(const std::string& path) {
  Descriptor("open the folder", path, O_RDONLY | O_DIRECTORY).sync();
}

void PosixDisk::remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail_with("remove", path, error.value());
}

bool PosixDisk::exists(const std::string& path) const {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) fail_with("look for", path, error.value());
  return exists;
}

std::vector<DirectoryEntry> PosixDisk::list(const std::string& directory) const {
  std::vector<DirectoryEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    // An entry may vanish between listing and looking at it; one that cannot be looked at has not.
    std::error_code trouble;
    const bool is_directory = it->is_directory(trouble);
    const auto size = !is_directory && it->is_regular_file(trouble) ? it->file_size(trouble) : 0;
    if (trouble && trouble != std::errc::no_such_file_or_directory)
      fail_with("inspect", it->path().string(), trouble.value());
    if (!trouble) entries.push_back({it->path().filename().string(), is_directory, size});
  }
  if (error) fail_with("list", directory, error.value());
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

std::string read_text(const Disk& disk, const std::string& path, std::uint64_t bytes_max) {
  const auto file = disk.open(path);
  D9D_REQUIRE(file->size() <= bytes_max, "{} has {} bytes, more than the {} such a file may have", path,
              file->size(), bytes_max);
  std::string text(file->size(), '\0');
  file->read(0, text.data(), text.size());
  return text;
}

void write_text(Disk& disk, const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  try {
    auto file = disk.create(temporary);
    file->write(0, text.data(), text.size());
    file->close(true);
    disk.rename(temporary, path);
  } catch (const Error&) {
    remove_quietly(disk, temporary);
    throw;
  }
}

void remove_quietly(Disk& disk, const std::string& path) {
  try {
    disk.remove_all(path);
  } catch (const Error& error) {
    log::warn("{}; remove it by hand when that works again", error.what());
  }
}

std::string join_path(const std::string& directory, const std::string& name) {
  return (fs::path(directory) / name).string();
}

}  // namespace d9d
