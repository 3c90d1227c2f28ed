#pragma once
// Reads the text of a file in blocks of whole documents, without a byte order mark at its begin. A plain file is mapped
// and is one block. A packed file is read in blocks, so that memory does not grow with the file.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace d9d {

struct TextBlock {
  std::string_view text;         // lives only during the call
  std::uint64_t first_line = 1;  // the line number of the block's begin
  bool is_last = true;
  // The block's range in the bytes of the file; in a packed file, of packed bytes.
  std::uint64_t bytes_begin = 0, bytes_end = 0;

  // Returns about how many bytes of the file have been read up to this place of the text.
  std::uint64_t bytes_up_to(const char* place) const;
};

// Returns how many bytes of a text that continues later are whole documents.
using WholePart = std::function<std::size_t(std::string_view)>;
std::size_t whole_lines(std::string_view text);
std::size_t whole_paragraphs(std::string_view text);
std::size_t nothing_whole(std::string_view text);  // the file is one document

// Input errors name the file: it cannot be opened or unpacked, its first bytes are not
// those of a text (the error says what they are), or a document of a packed file is
// longer than `document_bytes_max`.
constexpr std::size_t document_bytes_max = std::size_t{1} << 30;
void for_each_block(const std::string& file, const WholePart& whole,
                    const std::function<void(const TextBlock&)>& use,
                    std::size_t bytes_max = document_bytes_max);

// Names what the first bytes of a file are if they are no text: "a Parquet file", "an archive of
// tar". Empty for texts.
std::string binary_kind(std::string_view first);

}  // namespace d9d
