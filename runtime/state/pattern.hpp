#pragma once
// Names with '*' and '?', as in a shell: how a user says which tensors a strict load may leave aside.

#include <set>
#include <string>
#include <vector>

namespace d9d {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);
// Those that no pattern matches.
std::set<std::string> without_matches(std::set<std::string> names, const std::vector<std::string>& patterns);

}  // namespace d9d
