#include "runtime/tokenizer/codec/span_finder.hpp"

#include <algorithm>

namespace d9d {
namespace {

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

std::vector<std::uint32_t>& SpanFinder::enter(std::string_view part) {
  part_ = part;
  normalized_ = part;
  return from_;
}

TokenSpan SpanFinder::of_text(std::string_view part) const {
  const auto begin = static_cast<std::size_t>(part.data() - text_.data());
  return {begin, begin + part.size()};
}

TokenSpan SpanFinder::of_bytes(std::size_t begin, std::size_t end) const {
  if (text_.empty()) return {};
  begin = std::min(begin, text_.size() - 1);
  return whole_characters(begin, std::max(begin + 1, end) - 1);
}

TokenSpan SpanFinder::of_normalized(const char* first, const char* last) const {
  const std::size_t begin = place_of(first);
  return whole_characters(begin, std::max(begin, place_of(last)));
}

std::size_t SpanFinder::place_of(const char* byte) const {
  const auto at = static_cast<std::size_t>(byte - normalized_.data());
  return static_cast<std::size_t>(part_.data() - text_.data()) + (from_.empty() ? at : from_[at]);
}

TokenSpan SpanFinder::whole_characters(std::size_t first, std::size_t last) const {
  while (first > 0 && is_inside_character(text_[first])) --first;
  std::size_t end = last + 1;
  while (end < text_.size() && is_inside_character(text_[end])) ++end;
  return {first, end};
}

}  // namespace d9d
