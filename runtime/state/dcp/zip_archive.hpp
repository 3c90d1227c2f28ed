#pragma once
// The files of a zip archive that is a part of a file, as torch.save writes it: nothing is compressed. No torch.

#include <cstdint>
#include <map>
#include <string>

#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Bytes [offset, offset + length) of a file.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class ZipArchive {
 public:
  // Input error that begins with `where`: no archive, or one that is cut, compressed or encrypted.
  // `file` outlives this.
  ZipArchive(const ReadFile& file, FileRange range, std::string where);

  // `name` is without the folder in which torch puts all entries.
  bool has(const std::string& name) const { return entries_.contains(name); }
  std::uint64_t size_of(const std::string& name) const { return entry(name).data.length; }
  // Reads an entry whole and compares it with its checksum, where the archive has one.
  std::string read(const std::string& name) const;
  void read_into(const std::string& name, void* into) const;

 private:
  struct Entry {
    FileRange data;
    std::uint32_t checksum = 0;  // 0: torch was told to write none
  };
  struct Directory {
    FileRange bytes;
    std::uint64_t count = 0;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  FileRange data_of(std::uint64_t header, std::uint64_t length) const;
  const Entry& entry(const std::string& name) const;
  std::string bytes(std::uint64_t offset, std::uint64_t length) const;  // offset in the archive
  [[noreturn]] void refuse(const std::string& why) const;

  const ReadFile& file_;
  const FileRange range_;
  const std::string where_;
  std::map<std::string, Entry> entries_;
};

}  // namespace d9d
