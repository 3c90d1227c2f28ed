#include "runtime/data/bpe/unicode_class.hpp"

#include "runtime/data/bpe/utf8.hpp"

namespace d9d {

bool is_white_space(char32_t value) {
  return (value >= 0x09 && value <= 0x0D) || value == 0x20 || value == 0x85 || value == 0xA0 ||
         value == 0x1680 || (value >= 0x2000 && value <= 0x200A) || value == 0x2028 || value == 0x2029 ||
         value == 0x202F || value == 0x205F || value == 0x3000;
}

std::size_t leading_white_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (!is_white_space(point.value)) break;
    at += point.length;
  }
  return at;
}

std::size_t trailing_white_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const CodePoint point = code_point_before(text, end);
    if (!is_white_space(point.value)) break;
    end -= point.length;
  }
  return text.size() - end;
}

}  // namespace d9d
