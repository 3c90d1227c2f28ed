#include "runtime/state/disk/posix_write_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace d9d {
namespace {

constexpr std::size_t large_bytes = 1 << 20;

}  // namespace

PosixWriteFile::PosixWriteFile(const std::string& path)
    : file_("create", path, O_WRONLY | O_CREAT | O_TRUNC) {}

void PosixWriteFile::reserve(std::uint64_t bytes) {
  // Not posix_fallocate, which writes zeros where the file system cannot reserve.
  while (::fallocate(file_.fd(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail_with("reserve space in", path(), errno);
    return;
  }
}

void PosixWriteFile::write(std::uint64_t offset, const void* data, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  const std::size_t head = bytes_to_block(offset);
  const bool lies_alike = bytes_to_block(reinterpret_cast<std::uintptr_t>(data)) == head;
  if (lies_alike && bytes >= head + large_bytes) {
    const std::size_t inside = (bytes - head) / disk_block * disk_block;
    if (write_direct(offset + head, from + head, inside)) {
      const std::size_t tail = head + inside;
      write_cached(offset, from, head);
      return write_cached(offset + tail, from + tail, bytes - tail);
    }
  }
  write_cached(offset, from, bytes);
}

void PosixWriteFile::write_cached(std::uint64_t offset, const std::byte* data, std::size_t bytes) {
  const auto begin = static_cast<off64_t>(offset);
  const auto all = static_cast<off64_t>(bytes);
  while (bytes > 0) {
    const auto put = ::pwrite(file_.fd(), data, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with("write", path(), errno);
    data += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
  // The disk begins now, so that a sync at the end has little left to wait for. Only a hint: a file system that
  // does not know it begins later.
  if (all >= static_cast<off64_t>(large_bytes))
    ::sync_file_range(file_.fd(), begin, all, SYNC_FILE_RANGE_WRITE);
}

bool PosixWriteFile::write_direct(std::uint64_t offset, const std::byte* data, std::size_t bytes) {
  const int fd = direct_descriptor();
  if (fd < 0) return false;
  while (bytes > 0) {
    const auto put = ::pwrite(fd, data, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // Some file systems accept the flag and refuse the write; the caller then writes through the cache.
    if (put < 0 && errno == EINVAL) return false;
    if (put < 0) fail_with("write", path(), errno);
    // A short write that ends within a block leaves the rest unaligned: it goes through the cache.
    if (static_cast<std::size_t>(put) < bytes && static_cast<std::size_t>(put) % disk_block != 0)
      return false;
    data += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

int PosixWriteFile::direct_descriptor() {
  std::call_once(asked_for_direct_, [this] {
    try {
      direct_.emplace("open", path(), O_WRONLY | O_DIRECT);
    } catch (const DiskError&) {
      // The file system does not support it: all writes go through the page cache.
    }
  });
  return direct_ ? direct_->fd() : -1;
}

void PosixWriteFile::close(bool sync) {
  if (sync) file_.sync();
  if (direct_) direct_->close();
  file_.close();
}

}  // namespace d9d
