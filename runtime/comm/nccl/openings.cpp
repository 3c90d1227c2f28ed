#include "runtime/comm/nccl/openings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace d9d::nccl {

void Openings::begin(int rank, const std::string& group) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(rank, group);
}

void Openings::end(int rank, const std::string& group) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = waiting_.equal_range(rank);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == group; });
  if (found != last) waiting_.erase(found);
}

std::string Openings::others(int rank) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [other, group] : waiting_)
    if (other != rank) text += fmt::format("; rank {} waits to open {}", other, group);
  return text;
}

}  // namespace d9d::nccl
