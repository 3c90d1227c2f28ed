#include "runtime/comm/nccl/launch_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"

namespace d9d::nccl {
namespace {

// The number of the oldest launch that a history still has, by group. Older ones have been dropped
// and cannot be compared.
std::map<std::string, std::uint64_t> first_numbers(const LaunchHistory& history) {
  std::map<std::string, std::uint64_t> first;
  for (const Launched& launched : history.launched) first.emplace(launched.group, launched.number);
  return first;
}

std::vector<Launched> common_part(const LaunchHistory& of, const LaunchHistory& with) {
  const auto theirs = first_numbers(with);
  std::vector<Launched> part;
  for (const Launched& launched : of.launched) {
    if (!with.groups.contains(launched.group)) continue;
    const auto first = theirs.find(launched.group);
    if (first == theirs.end() || launched.number >= first->second) part.push_back(launched);
  }
  return part;
}

std::string text_of(const Launched& launched) {
  return fmt::format("{} number {} of group {}", launched.what, launched.number, launched.group);
}

std::optional<std::string> difference_of(const LaunchHistory& a, const LaunchHistory& b) {
  const std::vector<Launched> of_a = common_part(a, b), of_b = common_part(b, a);
  const auto [in_a, in_b] = std::mismatch(of_a.begin(), of_a.end(), of_b.begin(), of_b.end());
  if (in_a == of_a.end() && in_b == of_b.end()) return std::nullopt;
  if (in_a == of_a.end()) return fmt::format("rank {} has not launched {}", a.rank, text_of(*in_b));
  if (in_b == of_b.end()) return fmt::format("rank {} has not launched {}", b.rank, text_of(*in_a));
  return fmt::format("rank {} launched {} where rank {} launched {}", b.rank, text_of(*in_b), a.rank,
                     text_of(*in_a));
}

}  // namespace

std::string encode(const LaunchHistory& history) {
  nlohmann::json launched = nlohmann::json::array();
  for (const Launched& one : history.launched) launched.push_back({one.group, one.number, one.what});
  return json_text(
      nlohmann::json{{"rank", history.rank}, {"groups", history.groups}, {"launched", launched}});
}

LaunchHistory decode_history(const std::string& text) {
  const auto json = parse_json<nlohmann::json>(text);
  LaunchHistory history{json.at("rank"), json.at("groups"), {}};
  for (const auto& one : json.at("launched")) history.launched.push_back({one.at(0), one.at(1), one.at(2)});
  return history;
}

std::optional<std::string> difference(const std::vector<LaunchHistory>& histories) {
  // A different order explains a deadlock; a missing launch may only be late. So an
  // order is reported first.
  std::optional<std::string> missing;
  for (std::size_t b = 1; b < histories.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const auto found = difference_of(histories[a], histories[b]);
      if (!found) continue;
      if (found->find(" where ") != std::string::npos) return found;
      if (!missing) missing = found;
    }
  }
  return missing;
}

void LaunchOrder::join(const std::string& group) {
  const std::lock_guard lock(mutex_);
  groups_.insert(group);
}

void LaunchOrder::leave(const std::string& group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(group);
}

void LaunchOrder::add(Launched launched) {
  const std::lock_guard lock(mutex_);
  if (launched_.size() == kept_max) launched_.pop_front();
  launched_.push_back(std::move(launched));
}

LaunchHistory LaunchOrder::history() const {
  const std::lock_guard lock(mutex_);
  return {rank_, groups_, {launched_.begin(), launched_.end()}};
}

}  // namespace d9d::nccl
