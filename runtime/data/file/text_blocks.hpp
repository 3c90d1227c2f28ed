#pragma once
// The text of a file in blocks of whole documents: of a plain file all of it, mapped, at once; of a packed one so much at
// a time that memory does not grow with the file.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace d9d {

struct TextBlock {
  std::string_view text;         // lives only during the call
  std::uint64_t first_line = 1;  // number of the line that it begins with
  bool is_last = true;
  // Of the file's bytes, packed where it is.
  std::uint64_t bytes_begin = 0, bytes_end = 0;

  // About how many bytes of the file are read up to this place of the text.
  std::uint64_t bytes_up_to(const char* place) const;
};

// How much of a text that goes on is whole documents.
using WholePart = std::function<std::size_t(std::string_view)>;
std::size_t whole_lines(std::string_view text);
std::size_t whole_paragraphs(std::string_view text);
std::size_t nothing_whole(std::string_view text);  // the file is one document

// Input errors name the file: it cannot be opened or unpacked, its first bytes are not those of a text (what they are is
// said), or a document of a packed file has more than `document_bytes_max`.
constexpr std::size_t document_bytes_max = std::size_t{1} << 30;
void for_each_block(const std::string& file, const WholePart& whole,
                    const std::function<void(const TextBlock&)>& use,
                    std::size_t bytes_max = document_bytes_max);

// What the first bytes of a file are, where they are no text: "a Parquet file", "an archive of tar". Empty for texts.
std::string binary_kind(std::string_view first);

}  // namespace d9d
