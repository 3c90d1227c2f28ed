#pragma once
// Maps the output of normalizer and pre-tokenizer back to bytes of the original text. One thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/token_span.hpp"

namespace d9d {

class SpanFinder {
 public:
  explicit SpanFinder(std::string_view text) : text_(text) {}

  // Starts a part: the text between two added tokens. Returns `from`, for the normalizer to fill.
  std::vector<std::uint32_t>& enter(std::string_view part);
  void normalized(std::string_view text) { normalized_ = text; }

  // The span of a part of the original text.
  TokenSpan of_text(std::string_view part) const;
  // The span of bytes [begin, end) of the original text. A made byte with no source gets the
  // character that it stands in.
  TokenSpan of_bytes(std::size_t begin, std::size_t end) const;
  // The span of [first, last] in the normalised text of the part that was entered.
  TokenSpan of_normalized(const char* first, const char* last) const;

 private:
  std::size_t place_of(const char* byte) const;
  TokenSpan whole_characters(std::size_t first, std::size_t last) const;

  const std::string_view text_;
  std::string_view part_;
  std::string_view normalized_;
  std::vector<std::uint32_t> from_;  // for each byte of normalised text; empty: it equals the part
};

}  // namespace d9d
