#pragma once
// Files behind an interface, so that the same code writes to the real disk and, in tests, to one
// that fails on purpose. Every failure is an environment error with path, operation and the
// system's reason. Calls may block.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace d9d {

// A file for reading at an offset, so that several threads may read it. It is not mapped,
// because a bad sector, or a file that is cut meanwhile, must be an error of one load and not a
// SIGBUS of the process.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;
  // Exactly `bytes` bytes; fewer is an error.
  virtual void read(std::uint64_t offset, void* into, std::size_t bytes) const = 0;
};

// The block size of disks and file systems in bytes, and the number of bytes from `at` to the
// next multiple of it.
inline constexpr std::size_t disk_block = 4096;
constexpr std::size_t bytes_to_block(std::uint64_t at) {
  return (disk_block - at % disk_block) % disk_block;
}

// A new file. If it is destroyed without close(), bytes already written
// stay, without any guarantee.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual const std::string& path() const = 0;
  // Announces the size of the file: a disk with too little space fails now, and a file system that
  // can do so reserves neighbouring blocks. Others ignore it.
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

// Reads a small file as a whole.
std::string read_text(const Disk& disk, const std::string& path, std::uint64_t bytes_max);
// Writes a text under a temporary name, syncs it and renames it: readers see the old text
// or the new one.
void write_text(Disk& disk, const std::string& path, const std::string& text);

std::string join_path(const std::string& directory, const std::string& name);

}  // namespace d9d
