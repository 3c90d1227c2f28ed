#pragma once
// The bytes of a text that a token was made of.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace d9d {

// The bytes [begin, end) of the encoded text, in whole characters: tokens that share a character
// overlap. Empty for tokens that the post-processor puts around a text. Text that a normalizer
// removed belongs to no token.
struct TokenSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TokenSpan&) const = default;
};

struct EncodedText {
  std::vector<std::int32_t> ids;
  std::vector<TokenSpan> spans;  // one for each id
};

}  // namespace d9d
