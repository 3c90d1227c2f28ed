#pragma once
// The words of other programs for what has another name here.

#include <span>
#include <string_view>
#include <vector>

namespace d9d::config {

struct OtherWords {
  std::string_view words;  // theirs, parted by blanks
  std::string_view ours;   // what says the same here, parted by blanks; none: `note` alone is the answer
  std::string_view note = {};
};

std::vector<std::string_view> parted(std::string_view text);
// Returns null for a word that is in none of the rows.
const OtherWords* find_other(std::span<const OtherWords> all, std::string_view word);

}  // namespace d9d::config
