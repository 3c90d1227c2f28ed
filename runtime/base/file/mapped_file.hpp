#pragma once
// A file's bytes, read-only, mapped: pages come from disk when touched and belong to the system's cache.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace d9d {

class MappedFile {
 public:
  // A missing or unreadable file is an input error that names it. An empty file is an empty span.
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
