#pragma once
// Properties of characters, as few as the tokenizer needs (Unicode character database).

#include <cstddef>
#include <string_view>

namespace d9d {

// The property White_Space.
bool is_white_space(char32_t value);

// Whether the character got its combining class or decomposition after Unicode 9, up to Unicode 15.
// The `tokenizers` library normalises by the tables of Unicode 9, so such a character is left as it
// is and divides the text before it from the text after it.
bool is_normalization_newer(char32_t value);

// General categories as the library knows them (tables of Unicode 8 and 9; later characters have
// none): M (all marks), Mn (marks without width), and C without unassigned characters (Cc, Cf, Co).
bool is_mark(char32_t value);
bool is_nonspacing_mark(char32_t value);
bool is_control(char32_t value);

// Returns one character in lower case. Not for U+0130, which becomes two.
char32_t lower_case(char32_t value);

// The number of bytes of white space at the begin or the end of well-formed text.
std::size_t leading_white_space(std::string_view text);
std::size_t trailing_white_space(std::string_view text);

}  // namespace d9d
