#pragma once
// Gzip on disk. A writer works under a temporary name and renames at the end, so a reader never sees half a
// file. Errors of the disk are environment errors that name the path.

#include <zlib.h>

#include <array>
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

// Reads gzip or plain text through std::istream. Input error for what unpacks to far more than a trace does: a few bytes
// would take all memory.
class GzipReadBuffer final : public std::streambuf {
 public:
  explicit GzipReadBuffer(const std::filesystem::path& path);

 protected:
  int_type underflow() override;

 private:
  const std::filesystem::path path_;
  detail::Gzip file_;
  std::uint64_t unpacked_ = 0;  // bytes
  std::array<char, 1 << 16> buffer_;
};

}  // namespace d9d::trace
