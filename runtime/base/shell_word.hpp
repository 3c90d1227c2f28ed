#pragma once
// A text as one word of a shell's command line, for commands that are printed to be copied.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace d9d {

// As it is, where no shell reads anything into it; else in single quotes, and with control characters as $'..' of bash
// and zsh, so that the command stays one line.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  const bool escapes = std::any_of(text.begin(), text.end(), is_control);
  std::string word = escapes ? "$'" : "'";
  for (const char c : text) {
    if (is_control(static_cast<unsigned char>(c))) {
      word += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (escapes && (c == '\'' || c == '\\')) {
      word += {'\\', c};
    } else if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + '\'';
}

}  // namespace d9d
