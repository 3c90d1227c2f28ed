#pragma once
// Gzip on disk. A writer works under a temporary name and renames at the end, so a reader never sees half a
// file. Errors of the disk are environment errors that name the path.

#include <zlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <string_view>

namespace d9d::trace {

namespace detail {
struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;
}  // namespace detail

class GzipWriter {
 public:
  // Makes the parent folder. `level` 1 (fast) to 9 (small).
  explicit GzipWriter(std::filesystem::path path, int level = 4);
  // Without finish() the temporary file is removed and `path` is untouched.
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view text);
  void finish();
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  const std::filesystem::path temporary_;
  detail::Gzip file_;
};

// Reads gzip or plain text through std::istream. Input error: the file unpacks to more than
// `bytes_free` bytes and 300 times its size. No trace does so, and it would fill the memory.
class GzipReadBuffer final : public std::streambuf {
 public:
  explicit GzipReadBuffer(const std::filesystem::path& path, std::uint64_t bytes_free = 256 << 20);

 protected:
  int_type underflow() override;

 private:
  const std::filesystem::path path_;
  const std::uint64_t bytes_free_;
  detail::Gzip file_;
  std::uint64_t packed_ = 0, made_ = 0;  // bytes
  std::array<char, 1 << 16> buffer_;
};

}  // namespace d9d::trace
