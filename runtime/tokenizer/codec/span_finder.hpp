#pragma once
// From what is left of a text after normalizer and pre-tokenizer back to the text. One thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/token_span.hpp"

namespace d9d {

class SpanFinder {
 public:
  explicit SpanFinder(std::string_view text) : text_(text) {}

  // What stands between two tokens of the text, for the normalizer to fill `from`.
  std::vector<std::uint32_t>& enter(std::string_view part);
  void normalized(std::string_view text) { normalized_ = text; }

  // Of a part of the text itself.
  TokenSpan of_text(std::string_view part) const;
  // Of bytes of the text; those of no byte get the character that they stand in.
  TokenSpan of_bytes(std::size_t begin, std::size_t end) const;
  // Of [first, last] in the normalised text of the part that was entered.
  TokenSpan of_normalized(const char* first, const char* last) const;

 private:
  std::size_t place_of(const char* byte) const;
  TokenSpan whole_characters(std::size_t first, std::size_t last) const;

  const std::string_view text_;
  std::string_view part_;
  std::string_view normalized_;
  std::vector<std::uint32_t> from_;  // of the normalised text; empty: it is the part itself
};

}  // namespace d9d
