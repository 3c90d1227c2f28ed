#pragma once
// The steps of normalizers that work character by character.

#include <string>
#include <string_view>

namespace d9d {

enum class TextFilter {
  bert_clean,        // no control characters, U+0000 or U+FFFD; every white space is a blank
  bert_ideographs,   // a blank before and after every character of the CJK blocks
  marks,             // without marks (category M)
  nonspacing_marks,  // without marks that take no room (category Mn)
  nmt,               // the list of control characters and blanks of SentencePiece's nmt_nfkc
  lower_case
};

// Appends the filtered text to `out` and returns how many of these bytes were made of the first
// `head` bytes. The text must be well-formed.
std::size_t apply_filter(TextFilter filter, std::string_view text, std::size_t head, std::string& out);

}  // namespace d9d
