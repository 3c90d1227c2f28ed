#pragma once
// A whole text as token ids, of which those count in the loss that have bytes of the counted parts.

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

// Without special tokens around it; those in it are recognised. `parts` are in order and apart. `encoded` is working
// memory. Input errors as those of the tokenizer.
CountedTokens counted_tokens(const Tokenizer& tokenizer, std::string_view text,
                             std::span<const ByteRange> parts, Tokenizer::Scratch& scratch,
                             EncodedText& encoded);

// Whether the tokenizer puts a mark at the begin of a text (Prepend, Metaspace, SentencePiece, a prefix space), so that a
// part of a text encoded apart begins with a token that it would not have within.
bool marks_begins(const Tokenizer& tokenizer);

}  // namespace d9d
