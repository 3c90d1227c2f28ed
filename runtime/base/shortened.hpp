#pragma once
// A text of foreign code, as far as it is worth printing: the first 2000 bytes, and how many follow.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace d9d {

inline std::string shortened(std::string_view text) {
  constexpr std::size_t kept = 2000;
  if (text.size() <= kept) return std::string(text);
  std::size_t end = kept;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // no half of a character
  return fmt::format("{} [and {} bytes more]", text.substr(0, end), text.size() - end);
}

}  // namespace d9d
