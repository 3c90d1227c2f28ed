#include "runtime/base/config/other_words.hpp"

#include <algorithm>

namespace d9d::config {

std::vector<std::string_view> parted(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

const OtherWords* find_other(std::span<const OtherWords> all, std::string_view word) {
  const auto found = std::ranges::find_if(
      all, [&](const OtherWords& row) { return std::ranges::count(parted(row.words), word); });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace d9d::config
