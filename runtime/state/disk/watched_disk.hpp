#pragma once
// A disk whose calls are watched (disk_watch.hpp). `disk` and `watch` must outlive it and the
// files that it opens.

#include "runtime/state/disk/disk.hpp"
#include "runtime/state/disk/disk_watch.hpp"

namespace d9d {

class WatchedDisk final : public Disk {
 public:
  WatchedDisk(Disk& disk, DiskWatch& watch) : disk_(disk), watch_(watch) {}

  std::unique_ptr<ReadFile> open(const std::string& path) const override;
  std::unique_ptr<WriteFile> create(const std::string& path) override;
  void make_directories(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void exchange(const std::string& a, const std::string& b) override;
  void sync_directory(const std::string& path) override;
  void remove_all(const std::string& path) override;
  bool exists(const std::string& path) const override;
  std::vector<DirectoryEntry> list(const std::string& directory) const override;

 private:
  Disk& disk_;
  DiskWatch& watch_;
};

}  // namespace d9d
