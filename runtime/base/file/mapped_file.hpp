#pragma once
// Maps a file read-only. Pages are read from disk when they are touched and belong
// to the system's cache.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace d9d {

class MappedFile {
 public:
  // Input error that names the file: it is missing or unreadable. An empty file is an empty span.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace d9d
