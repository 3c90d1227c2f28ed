#pragma once
// Files, handed in: the same code writes to the real disk and to one that fails on purpose.
// Every failure is an environment error with path, operation and the system's reason. Calls may block.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace d9d {

// Reading at an offset, so several threads may read one file. Not a memory map, because a bad sector or a
// file cut while it is read shall be an error of one load and not a SIGBUS of the process.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
  // Exactly `bytes` bytes; fewer is an error.
  virtual void read(std::uint64_t offset, void* into, std::size_t bytes) const = 0;
};

// What disks and file systems count in, bytes; and how many are missing from `at` to the next multiple.
inline constexpr std::size_t disk_block = 4096;
constexpr std::size_t bytes_to_block(std::uint64_t at) {
  return (disk_block - at % disk_block) % disk_block;
}

// A new file. Destroyed without close(): whatever was written stays, nothing is promised.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual const std::string& path() const = 0;
  // So many bytes will come: a disk with too little space says so now, and gives neighbouring blocks. No more than a
  // hint to file systems that cannot.
  virtual void reserve(std::uint64_t bytes) = 0;
  virtual void write(std::uint64_t offset, const void* data, std::size_t bytes) = 0;
  // With `sync`, returns after the bytes are on stable storage.
  virtual void close(bool sync) = 0;
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
  std::uint64_t size = 0;  // bytes, of a file
};

class Disk {
 public:
  virtual ~Disk() = default;
  virtual std::unique_ptr<ReadFile> open(const std::string& path) const = 0;
  virtual std::unique_ptr<WriteFile> create(const std::string& path) = 0;  // replaces a file of that name
  virtual void make_directories(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Two existing paths swap names, in one step where the file system can.
  virtual void exchange(const std::string& a, const std::string& b) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  virtual void remove_all(const std::string& path) = 0;  // a missing path is fine
  virtual bool exists(const std::string& path) const = 0;
  virtual std::vector<DirectoryEntry> list(const std::string& directory) const = 0;  // sorted by name
};

class PosixDisk final : public Disk {
 public:
  std::unique_ptr<ReadFile> open(const std::string& path) const override;
  std::unique_ptr<WriteFile> create(const std::string& path) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void exchange(const std::string& a, const std::string& b) override;
  void sync_directory(const std::string& path) override;
  void remove_all(const std::string& path) override;
  bool exists(const std::string& path) const override;
  std::vector<DirectoryEntry> list(const std::string& directory) const override;
};

// Small whole files.
std::string read_text(const Disk& disk, const std::string& path, std::uint64_t bytes_max);
// Under a temporary name, synced, then renamed: readers see the old text or the new one.
void write_text(Disk& disk, const std::string& path, const std::string& text);

std::string join_path(const std::string& directory, const std::string& name);

}  // namespace d9d
