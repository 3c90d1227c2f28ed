#include "runtime/state/pattern.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace d9d {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

std::set<std::string> without_matches(std::set<std::string> names, const std::vector<std::string>& patterns) {
  std::erase_if(names, [&](const auto& name) { return matches_any(name, patterns); });
  return names;
}

}  // namespace d9d
