#pragma once
// Numbers of things in texts for people.

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace d9d {

// "1 step", "2 steps". `noun` is a word that takes an s.
std::string counted(std::integral auto number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace d9d
