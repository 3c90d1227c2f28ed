#include "runtime/data/file/decoded_file.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string_view>

#include "runtime/base/error.hpp"
#include "tests/runtime/data/folder.hpp"

namespace d9d {
namespace {

std::string read_in_pieces(const std::string& path, std::size_t size) {
  DecodedFile file(path);
  std::string text;
  std::string piece(size, 0);
  while (const std::size_t read = file.read(piece)) text.append(piece, 0, read);
  EXPECT_EQ(file.packed_read(), file.packed_size());
  return text;
}

// Packed by Python, two streams one after the other (tests/golden/files).
TEST(DecodedFile, HasTheSameBytesInPiecesOfAnySize) {
  const std::string files = D9D_SOURCE_DIR "/tests/golden/files/rows.jsonl.";
  const std::string text = read_in_pieces(files + "gz", 1 << 16);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5);
  for (const char* ending : {"gz", "bz2", "xz", "zst"}) {
    try {
      read_in_pieces(files + ending, 1 << 16);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("this build has no library") == std::string_view::npos) throw;
      continue;
    }
    for (const std::size_t size : {1, 7, 4096})
      EXPECT_EQ(read_in_pieces(files + ending, size), text) << ending << size;
  }
  const Folder folder;
  EXPECT_EQ(read_in_pieces(folder.write("plain", text), 7), text);
  EXPECT_EQ(read_in_pieces(folder.write("empty", ""), 7), "");
}

}  // namespace
}  // namespace d9d
