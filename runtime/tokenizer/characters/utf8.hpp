#pragma once
// UTF-8 by hand where speed or exact byte positions matter. All functions are pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace d9d {

// The index of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7), or text.size().
std::size_t first_invalid_utf8(std::string_view text);

// The index of the first byte above 0x7F at or after `from`, or text.size().
std::size_t first_non_ascii(std::string_view text, std::size_t from = 0);

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // bytes
};

// The code point that starts at `at`; `text` must be well-formed and `at` a boundary below text.size().
CodePoint code_point_at(std::string_view text, std::size_t at);

// The code point that ends just before `end` (end > 0), same conditions.
CodePoint code_point_before(std::string_view text, std::size_t end);

void append_utf8(std::string& out, char32_t value);

// A copy in which every maximal ill-formed part is one U+FFFD
// (Unicode 15, section 3.9, substitution of maximal parts).
std::string to_valid_utf8(std::string_view bytes);

}  // namespace d9d
