#include "runtime/state/disk/watched_disk.hpp"

#include <utility>

namespace d9d {
namespace {

using Call = DiskWatch::Call;
using Access = DiskWatch::Access;

class WatchedRead final : public ReadFile {
 public:
  WatchedRead(std::unique_ptr<ReadFile> file, DiskWatch& watch) : file_(std::move(file)), watch_(watch) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t size() const override { return file_->size(); }
  void read(std::uint64_t offset, void* into, std::size_t bytes) const override {
    const Call call(watch_, "read", path(), Access::read);
    file_->read(offset, into, bytes);
  }

 private:
  std::unique_ptr<ReadFile> file_;
  DiskWatch& watch_;
};

class WatchedWrite final : public WriteFile {
 public:
  WatchedWrite(std::unique_ptr<WriteFile> file, DiskWatch& watch) : file_(std::move(file)), watch_(watch) {}
  const std::string& path() const override { return file_->path(); }
  void reserve(std::uint64_t bytes) override {
    const Call call(watch_, "reserve space in", path());
    file_->reserve(bytes);
  }
  void write(std::uint64_t offset, const void* data, std::size_t bytes) override {
    const Call call(watch_, "write", path());
    file_->write(offset, data, bytes);
  }
  void close(bool sync) override {
    const Call call(watch_, sync ? "sync and close" : "close", path());
    file_->close(sync);
  }

 private:
  std::unique_ptr<WriteFile> file_;
  DiskWatch& watch_;
};

}  // namespace

std::unique_ptr<ReadFile> WatchedDisk::open(const std::string& path) const {
  const Call call(watch_, "open", path, Access::read);
  return std::make_unique<WatchedRead>(disk_.open(path), watch_);
}

std::unique_ptr<WriteFile> WatchedDisk::create(const std::string& path) {
  const Call call(watch_, "create", path, Access::change);
  return std::make_unique<WatchedWrite>(disk_.create(path), watch_);
}

void WatchedDisk::make_directories(const std::string& path) {
  const Call call(watch_, "make the folder", path, Access::change);
  disk_.make_directories(path);
}

void WatchedDisk::rename(const std::string& from, const std::string& to) {
  const Call call(watch_, "rename", from, Access::change);
  disk_.rename(from, to);
}

void WatchedDisk::exchange(const std::string& a, const std::string& b) {
  const Call call(watch_, "rename", a, Access::change);
  disk_.exchange(a, b);
}

void WatchedDisk::sync_directory(const std::string& path) {
  const Call call(watch_, "sync the folder", path);
  disk_.sync_directory(path);
}

void WatchedDisk::remove_all(const std::string& path) {
  const Call call(watch_, "remove", path, Access::change);
  disk_.remove_all(path);
}

bool WatchedDisk::exists(const std::string& path) const {
  const Call call(watch_, "look for", path, Access::read);
  return disk_.exists(path);
}

std::vector<DirectoryEntry> WatchedDisk::list(const std::string& directory) const {
  const Call call(watch_, "list", directory, Access::read);
  return disk_.list(directory);
}

}  // namespace d9d
