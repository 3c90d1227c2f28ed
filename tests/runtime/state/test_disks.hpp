#pragma once
// Disks that tests hand in: one that counts, one that dies.

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_error.hpp"

namespace d9d::test {

// The real disk without waiting for the platter. Asks a hook before every operation: it may count, or throw.
class QuickDisk : public Disk {
 public:
  std::unique_ptr<ReadFile> open(const std::string& path) const override {
    return std::make_unique<HookedRead>(*this, real_.open(path));
  }
  std::unique_ptr<WriteFile> create(const std::string& path) override {
    before_change("create");
    return std::make_unique<HookedWrite>(*this, real_.create(path));
  }
  void make_directories(const std::string& path) override {
    before_change("make");
    real_.make_directories(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    before_change("rename");
    real_.rename(from, to);
  }
  void exchange(const std::string& a, const std::string& b) override {
    before_change("exchange");
    real_.exchange(a, b);
  }
  void sync_directory(const std::string&) override { before_change("sync folder"); }
  void remove_all(const std::string& path) override {
    before_change("remove");
    real_.remove_all(path);
  }
  bool exists(const std::string& path) const override { return real_.exists(path); }
  std::vector<DirectoryEntry> list(const std::string& path) const override { return real_.list(path); }

 protected:
  virtual void before_change(const char*) {}
  virtual void before_write(std::size_t) {}
  virtual void before_read(std::size_t) const {}

 private:
  class HookedRead final : public ReadFile {
   public:
    HookedRead(const QuickDisk& disk, std::unique_ptr<ReadFile> real) : disk_(disk), real_(std::move(real)) {}
    const std::string& path() const override { return real_->path(); }
    std::uint64_t size() const override { return real_->size(); }
    void read(std::uint64_t offset, void* into, std::size_t bytes) const override {
      disk_.before_read(bytes);
      real_->read(offset, into, bytes);
    }

   private:
    const QuickDisk& disk_;
    std::unique_ptr<ReadFile> real_;
  };

  class HookedWrite final : public WriteFile {
   public:
    HookedWrite(QuickDisk& disk, std::unique_ptr<WriteFile> real) : disk_(disk), real_(std::move(real)) {}
    const std::string& path() const override { return real_->path(); }
    void reserve(std::uint64_t bytes) override {
      disk_.before_change("reserve");
      real_->reserve(bytes);
    }
    void write(std::uint64_t offset, const void* data, std::size_t bytes) override {
      disk_.before_change("write");
      disk_.before_write(bytes);
      real_->write(offset, data, bytes);
    }
    void close(bool) override {
      disk_.before_change("close");
      real_->close(false);
    }

   private:
    QuickDisk& disk_;
    std::unique_ptr<WriteFile> real_;
  };

  PosixDisk real_;
};

class CountingDisk final : public QuickDisk {
 public:
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void before_read(std::size_t bytes) const override { bytes_read_ += bytes; }
  mutable std::uint64_t bytes_read_ = 0;
};

// Does `num_changes` changes, then fails at every later one, as if the process had been killed there.
class DyingDisk final : public QuickDisk {
 public:
  explicit DyingDisk(int num_changes) : left_(num_changes) {}
  bool died() const { return left_ < 0; }

 private:
  void before_change(const char* what) override {
    if (left_ <= 0) left_ = -1;
    if (left_ < 0) throw Error(ErrorKind::environment, std::string("killed before: ") + what);
    --left_;
  }
  int left_;
};

// Refuses to read every path that contains a text, as a disk with a bad sector or a user without rights sees it.
class UnreadableDisk final : public QuickDisk {
 public:
  UnreadableDisk(std::string part, int error_number) : part_(std::move(part)), error_number_(error_number) {}

  std::unique_ptr<ReadFile> open(const std::string& path) const override {
    refuse("open", path);
    return QuickDisk::open(path);
  }
  std::vector<DirectoryEntry> list(const std::string& path) const override {
    refuse("list", path + "/");
    return QuickDisk::list(path);
  }

 private:
  void refuse(const char* operation, const std::string& path) const {
    if (path.find(part_) != std::string::npos) throw DiskError(operation, path, error_number_);
  }
  const std::string part_;
  const int error_number_;
};

// Holds `capacity` bytes.
class FullDisk final : public QuickDisk {
 public:
  explicit FullDisk(std::uint64_t capacity) : left_(capacity) {}

 private:
  void before_write(std::size_t bytes) override {
    if (bytes > left_) throw Error(ErrorKind::environment, "cannot write: No space left on device");
    left_ -= bytes;
  }
  std::uint64_t left_;
};

}  // namespace d9d::test
