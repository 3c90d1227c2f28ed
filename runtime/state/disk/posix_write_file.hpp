#pragma once
// WriteFile of the real disk. A large write bypasses the page cache if its data's address and the
// offset have the same remainder by disk_block and the file system allows it. Then no page is
// copied, and a folder of 100 GB pushes nothing else out of memory. Other writes go through the
// cache; writing back large ones begins at once.

#include <cstddef>
#include <mutex>
#include <optional>

#include "runtime/state/disk/descriptor.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

class PosixWriteFile final : public WriteFile {
 public:
  explicit PosixWriteFile(const std::string& path);

  const std::string& path() const override { return file_.path(); }
  void reserve(std::uint64_t bytes) override;
  void write(std::uint64_t offset, const void* data, std::size_t bytes) override;
  void close(bool sync) override;

 private:
  void write_cached(std::uint64_t offset, const std::byte* data, std::size_t bytes);
  // Returns false if the file system does not support it.
  bool write_direct(std::uint64_t offset, const std::byte* data, std::size_t bytes);
  int direct_descriptor();

  Descriptor file_;
  std::once_flag asked_for_direct_;
  std::optional<Descriptor> direct_;  // the same file without cache; none if not supported
};

}  // namespace d9d
