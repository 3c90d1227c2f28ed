#pragma once
// Tokenises a whole text. A token counts in the loss if it has bytes of the counted parts.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

struct CountedTokens {
  std::vector<std::int32_t> ids;
  std::vector<bool> counted;  // one for each id

  void add(std::span<const std::int32_t> more, bool counts) {
    ids.insert(ids.end(), more.begin(), more.end());
    counted.resize(ids.size(), counts);
  }
};

using ByteRange = std::pair<std::size_t, std::size_t>;  // [begin, end)

// Adds no special tokens around the text, but recognises those in it. `parts` must be in order and
// must not overlap. `encoded` is working memory. Input errors: those of the tokenizer.
CountedTokens counted_tokens(const Tokenizer& tokenizer, std::string_view text,
                             std::span<const ByteRange> parts, Tokenizer::Scratch& scratch,
                             EncodedText& encoded);

// Whether the tokenizer puts a mark at the begin of a text (Prepend, Metaspace,
// SentencePiece, a prefix space). Then a part of a text that is encoded alone begins with
// another token than within the text.
bool marks_begins(const Tokenizer& tokenizer);

}  // namespace d9d
