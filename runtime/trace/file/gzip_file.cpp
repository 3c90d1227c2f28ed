#include "runtime/trace/file/gzip_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

constexpr std::uint64_t made_max = 300;

[[noreturn]] void fail_on(const std::filesystem::path& path, std::string_view what, int error) {
  const char* reason =
      error == 0 ? "the compressed data is damaged or ends too early; was the file copied while it was "
                   "written, or cut on the way? Copy it again"
                 : std::strerror(error);
  throw Error(ErrorKind::environment, fmt::format("cannot {} {}: {}", what, path.string(), reason));
}

detail::Gzip open_gzip(const std::filesystem::path& path, const char* mode, std::string_view what) {
  errno = 0;
  detail::Gzip file(gzopen(path.c_str(), mode));
  if (!file) fail_on(path, what, errno);
  gzbuffer(file.get(), 1 << 17);
  return file;
}

}  // namespace

GzipWriter::GzipWriter(std::filesystem::path path, int level)
    : path_(std::move(path)), temporary_(fmt::format("{}.{}.part", path_.string(), ::getpid())) {
  D9D_CHECK(level >= 1 && level <= 9, "gzip level {}; 1 to 9", level);
  std::error_code ignored;  // opening the file reports what is wrong
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  file_ = open_gzip(temporary_, fmt::format("wb{}", level).c_str(), "write");
}

GzipWriter::~GzipWriter() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void GzipWriter::write(std::string_view text) {
  D9D_CHECK(file_, "{} was finished", path_.string());
  errno = 0;
  while (!text.empty()) {
    const int written =
        gzwrite(file_.get(), text.data(), static_cast<unsigned>(std::min(text.size(), 1UL << 30)));
    if (written <= 0) fail_on(path_, "write", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void GzipWriter::finish() {
  D9D_CHECK(file_, "{} was finished", path_.string());
  errno = 0;
  const int closed = gzclose(file_.release());
  const int error = errno;
  std::error_code renamed;
  if (closed == Z_OK) std::filesystem::rename(temporary_, path_, renamed);
  if (closed == Z_OK && !renamed) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
  fail_on(path_, "write", renamed ? renamed.value() : error);
}

GzipReadBuffer::GzipReadBuffer(const std::filesystem::path& path, std::uint64_t bytes_free)
    : path_(path), bytes_free_(bytes_free), file_(open_gzip(path, "rb", "read")) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  packed_ = unknown ? 0 : size;
}

GzipReadBuffer::int_type GzipReadBuffer::underflow() {
  errno = 0;
  const int bytes = gzread(file_.get(), buffer_.data(), buffer_.size());
  int state = Z_OK;
  gzerror(file_.get(), &state);
  if (bytes < 0 || (bytes == 0 && state == Z_BUF_ERROR)) fail_on(path_, "read", errno);
  if (bytes == 0) return traits_type::eof();
  made_ += static_cast<std::uint64_t>(bytes);
  if (made_ > bytes_free_ + made_max * packed_) {
    throw Error(ErrorKind::input,
                fmt::format("{} becomes more than {} times as long when it is unpacked; no trace does",
                            path_.string(), made_max));
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + bytes);
  return traits_type::to_int_type(*gptr());
}

}  // namespace d9d::trace
