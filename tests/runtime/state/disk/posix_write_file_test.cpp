#include "runtime/state/disk/posix_write_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/state/scratch.hpp"

namespace d9d {
namespace {

constexpr std::size_t all_bytes = 5'000'003;

std::byte value_at(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 2654435761U >> 13);
}

// Memory that lies as a file from `offset` on does, or `shift` bytes beside that.
class Lying {
 public:
  Lying(std::uint64_t offset, std::size_t bytes, std::size_t shift)
      : memory_(bytes + 2 * disk_block), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    at_ = memory_.data() + bytes_to_block(address) + (offset + shift) % disk_block;
    for (std::size_t i = 0; i < bytes; ++i) at_[i] = value_at(offset + i);
  }
  const void* data() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::byte> memory_;
  std::byte* at_ = nullptr;
  std::size_t bytes_;
};

void expect_all_written(const std::string& path) {
  const auto file = PosixDisk().open(path);
  ASSERT_EQ(file->size(), all_bytes);
  std::vector<std::byte> read(all_bytes);
  file->read(0, read.data(), read.size());
  for (std::size_t i = 0; i < all_bytes; ++i) ASSERT_EQ(read[i], value_at(i)) << "at " << i;
}

// Pieces that begin and end inside of blocks, each from memory of its own, by several threads.
void write_in_pieces(const std::string& path, std::size_t piece_bytes, std::size_t shift) {
  PosixWriteFile file(path);
  file.reserve(all_bytes);
  const auto write_every_third = [&](std::size_t first) {
    for (std::size_t piece = first; piece * piece_bytes < all_bytes; piece += 3) {
      const std::size_t offset = piece * piece_bytes;
      const Lying memory(offset, std::min(piece_bytes, all_bytes - offset), shift);
      file.write(offset, memory.data(), memory.bytes());
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 3; ++first) threads.emplace_back(write_every_third, first);
  }
  file.close(true);
}

TEST(PosixWriteFile, PiecesPastThePageCacheAndThroughItMakeOneFile) {
  const test::Scratch scratch;
  const std::string path = scratch / "written";
  for (const std::size_t piece_bytes : {1'500'001U, 1'048'576U + 4096U, 5'000'003U, 700'001U}) {
    for (const std::size_t shift : {0U, 8U}) {
      write_in_pieces(path, piece_bytes, shift);
      expect_all_written(path);
    }
  }
}

TEST(PosixWriteFile, AFileSystemWithoutDirectWritesTakesTheSameBytes) {
  const std::string path = "/dev/shm/d9d-posix-write-file-" + std::to_string(::getpid());
  write_in_pieces(path, 1'500'001, 0);
  expect_all_written(path);
  PosixDisk().remove_all(path);
}

}  // namespace
}  // namespace d9d
