#pragma once
// Patterns of names with '*' and '?', as in a shell. Users choose with them which tensors a strict
// load may leave unread.

#include <set>
#include <string>
#include <vector>

namespace d9d {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);
// Returns the names that no pattern matches.
std::set<std::string> without_matches(std::set<std::string> names, const std::vector<std::string>& patterns);

}  // namespace d9d
