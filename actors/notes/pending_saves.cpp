#include "actors/notes/pending_saves.hpp"

#include <utility>

namespace d9d {

PendingSaves::Save& PendingSaves::of(std::uint64_t step) {
  Save& save = saves_[step];
  save.parts.step = step;
  return save;
}

void PendingSaves::shard(std::uint64_t step, const std::string& report, const std::string& failure) {
  Save& save = of(step);
  ++save.shards;
  if (!failure.empty()) save.failure = failure;
  if (!report.empty()) save.parts.reports.push_back(report);
}

bool PendingSaves::rank_state(std::uint64_t step, int rank, std::uint64_t next_sample,
                              const std::string& state) {
  Save& save = of(step);
  const bool first = save.parts.rank_states.empty();
  save.parts.next_sample = next_sample;
  save.parts.rank_states[rank] = state;
  return first;
}

void PendingSaves::tracker(std::uint64_t step) {
  of(step).tracker = true;
}

bool PendingSaves::complete(std::uint64_t step) const {
  const auto found = saves_.find(step);
  if (found == saves_.end()) return false;
  const Save& save = found->second;
  return save.shards == world_size_ && save.tracker && has_all_states(step);
}

std::optional<std::uint64_t> PendingSaves::newest() const {
  return saves_.empty() ? std::nullopt : std::optional(saves_.rbegin()->first);
}

bool PendingSaves::has_all_states(std::uint64_t step) const {
  const auto found = saves_.find(step);
  return found != saves_.end() && static_cast<int>(found->second.parts.rank_states.size()) == world_size_;
}

PendingSaves::Save PendingSaves::take(std::uint64_t step) {
  return std::move(saves_.extract(step).mapped());
}

}  // namespace d9d
