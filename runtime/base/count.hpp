#pragma once
// Numbers of things in texts for people.

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace d9d {

// Writes "1 step", "2 epochs", "3 batches". `noun` must form its plural with s, or
// with es after "tch".
std::string counted(std::integral auto number, std::string_view noun) {
  const std::string_view several = noun.ends_with("tch") ? "es" : "s";
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : several);
}

}  // namespace d9d
