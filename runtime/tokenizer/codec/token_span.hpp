#pragma once
// Which bytes of a text a token was made of.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace d9d {

// [begin, end) of the text that was encoded, in whole characters: tokens that share a character overlap. Empty
// for what the post-processor puts around a text. What a normalizer left out belongs to no token.
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
