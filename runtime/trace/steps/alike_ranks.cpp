#include "runtime/trace/steps/alike_ranks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <vector>

namespace d9d::trace {
namespace {

// "loader/3" -> {3}, "collective/3.1" -> {3, 1}; nothing for a name without numbers.
std::vector<std::uint64_t> numbers_of(const std::string& actor) {
  const std::size_t slash = actor.rfind('/');
  if (slash == std::string::npos) return {};
  std::vector<std::uint64_t> numbers;
  const char* const end = actor.data() + actor.size();
  for (const char* at = actor.data() + slash + 1;; ++at) {
    const auto [stop, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc()) return {};
    if (stop == end) return numbers;
    if (*stop != '.') return {};
    at = stop;
  }
}

}  // namespace

AlikeRanks::AlikeRanks(const Recording& recording) {
  std::map<int, std::set<int>> stages;
  for (const Span& span : recording.spans) {
    const int rank = recording.actors.at(span.actor).rank;
    if (span.category == Category::compute && span.stage >= 0 && rank >= 0) stages[rank].insert(span.stage);
  }
  std::map<std::set<int>, int> first_of;
  for (const auto& [rank, mine] : stages) first_[rank] = first_of.try_emplace(mine, rank).first->second;

  std::map<std::pair<int, std::string>, std::map<std::vector<std::uint64_t>, std::string>>
      numbered;  // by rank and role
  for (const ActorName& actor : recording.actors) {
    if (const auto numbers = numbers_of(actor.name); !numbers.empty())
      numbered[{actor.rank, actor.name.substr(0, actor.name.rfind('/'))}][numbers] = actor.name;
  }
  for (const auto& [of, actors] : numbered) {
    std::size_t place = 0;
    for (const auto& [numbers, name] : actors)
      parts_[{of.first, name}] = fmt::format("{}/{}", of.second, place++);
  }
}

int AlikeRanks::first(int rank) const {
  const auto found = first_.find(rank);
  return found == first_.end() ? rank : found->second;
}

std::string AlikeRanks::part(int rank, const std::string& actor) const {
  const auto found = parts_.find({rank, actor});
  return found == parts_.end() || !first_.contains(rank) ? actor : found->second;
}

}  // namespace d9d::trace
