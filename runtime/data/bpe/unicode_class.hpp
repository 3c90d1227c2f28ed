#pragma once
// Properties of characters, as few as the tokenizer needs (Unicode character database).

#include <cstddef>
#include <string_view>

namespace d9d {

// The property White_Space.
bool is_white_space(char32_t value);

// Bytes of white space at the begin or the end of well-formed text.
std::size_t leading_white_space(std::string_view text);
std::size_t trailing_white_space(std::string_view text);

}  // namespace d9d
