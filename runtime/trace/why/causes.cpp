#include "runtime/trace/why/causes.hpp"

#include <algorithm>
#include <cstdlib>

namespace d9d::trace {
namespace {

// The ranks of a collective leave it together, up to how late each thread wakes up.
constexpr std::int64_t leaves_together_ns = 2'000'000;
constexpr std::int64_t shortest_wait_ns = 20'000;  // that is worth another rank's blame

bool is_work(Category category) {
  return category == Category::compute || category == Category::collective || category == Category::io ||
         category == Category::stall || category == Category::launch;
}

// What a host does, and its waits for its device.
bool is_in_handlers(const Span& span, const Recording& recording) {
  const bool waits = span.category == Category::wait && recording.names.at(span.name) == host_wait;
  return waits || is_work(span.category);
}

bool starts_before(const Span* a, const Span* b) {
  return a->start_ns < b->start_ns;
}

// The last that starts before `ns`.
const Span* last_before(const std::vector<const Span*>& spans, std::int64_t ns) {
  const auto after = std::partition_point(spans.begin(), spans.end(),
                                          [ns](const Span* span) { return span->start_ns < ns; });
  return after == spans.begin() ? nullptr : *std::prev(after);
}

}  // namespace

Causes::Causes(const Recording& recording)
    : recording_(recording),
      handled_(recording.actors.size()),
      work_of_track_(recording.actors.size()),
      work_of_owner_(recording.actors.size()),
      owners_(recording.actors.size()) {
  for (const Span& span : recording.spans) {
    if (span.flow_out != 0) senders_[span.flow_out] = &span;
    if (span.category == Category::message) handled_.at(span.actor).push_back(&span);
    if (is_in_handlers(span, recording)) work_of_track_.at(span.actor).push_back(&span);
    if (span.category == Category::collective) collectives_[span.name].push_back(&span);
  }
  for (auto* lists : {&handled_, &work_of_track_}) {
    for (auto& spans : *lists) std::stable_sort(spans.begin(), spans.end(), starts_before);
  }
  for (auto& [name, spans] : collectives_) std::stable_sort(spans.begin(), spans.end(), starts_before);
  find_owners();
}

bool Causes::is_inside(const Span& work, std::uint32_t actor) const {
  const Span* handler = last_before(handled_.at(actor), work.start_ns + 1);
  return handler != nullptr && handler->end_ns >= work.end_ns;
}

// Work is recorded on tracks of its own. A track belongs to the actor whose handlers hold most of its spans: handlers
// of another actor of the rank may hold some of them by chance.
void Causes::find_owners() {
  for (std::uint32_t track = 0; track < owners_.size(); ++track) {
    if (!handled_[track].empty()) owners_[track] = track;
    const auto& work = work_of_track_[track];
    const bool is_device = recording_.actors[track].name.starts_with(device_tracks);
    if (work.empty() || owners_[track] || is_device) continue;
    std::size_t most = work.size() / 2;
    for (std::uint32_t actor = 0; actor < handled_.size(); ++actor) {
      const ActorName &mine = recording_.actors[track], &other = recording_.actors[actor];
      if (handled_[actor].empty() || mine.rank != other.rank || mine.node != other.node) continue;
      const auto inside = static_cast<std::size_t>(
          std::count_if(work.begin(), work.end(), [&](const Span* span) { return is_inside(*span, actor); }));
      if (inside <= most) continue;
      most = inside;
      owners_[track] = actor;
    }
    if (!owners_[track]) continue;
    auto& all = work_of_owner_[*owners_[track]];
    all.insert(all.end(), work.begin(), work.end());
  }
  for (auto& work : work_of_owner_) std::stable_sort(work.begin(), work.end(), starts_before);
}

const Span* Causes::handled_before(std::uint32_t actor, std::int64_t ns) const {
  return last_before(handled_.at(actor), ns);
}

const Span* Causes::previous(const Span& span) const {
  const auto& all = handled_.at(span.actor);
  const auto mine =
      std::find(std::lower_bound(all.begin(), all.end(), &span, starts_before), all.end(), &span);
  return mine == all.begin() || mine == all.end() ? nullptr : *std::prev(mine);
}

const Span* Causes::sender(const Span& span) const {
  if (span.flow_in == 0 || span.enqueue_ns == 0) return nullptr;
  const auto found = senders_.find(span.flow_in);
  return found == senders_.end() ? nullptr : found->second;
}

std::vector<const Span*> Causes::work_in(const Span& handler) const {
  const auto& all = work_of_owner_.at(handler.actor);
  const auto starts_at = [](const Span* span, std::int64_t ns) { return span->start_ns < ns; };
  const auto first = std::lower_bound(all.begin(), all.end(), handler.start_ns, starts_at);
  return {first, std::lower_bound(first, all.end(), handler.end_ns, starts_at)};
}

std::optional<std::uint32_t> Causes::owner(const Span& span) const {
  return owners_.at(span.actor);
}

std::optional<std::uint32_t> Causes::computing_actor(int rank) const {
  std::optional<std::uint32_t> actor;
  std::size_t most = 0;
  for (std::uint32_t track = 0; track < owners_.size(); ++track) {
    if (recording_.actors[track].rank != rank || !owners_[track]) continue;
    const auto computes = static_cast<std::size_t>(
        std::count_if(work_of_track_[track].begin(), work_of_track_[track].end(), [](const Span* span) {
          return span->category == Category::compute || span->category == Category::launch;
        }));
    if (computes <= most) continue;
    most = computes;
    actor = owners_[track];
  }
  return actor;
}

const Span* Causes::collective_behind(const Span& stall) const {
  const Span* behind = nullptr;
  for (std::uint32_t track = 0; track < owners_.size(); ++track) {
    if (owners_[track] || recording_.actors[track].rank != recording_.actors.at(stall.actor).rank) continue;
    const Span* last = last_before(work_of_track_[track], stall.end_ns);
    if (last == nullptr || last->category != Category::collective || last->end_ns < stall.start_ns) continue;
    if (behind == nullptr || last->end_ns > behind->end_ns) behind = last;
  }
  return behind;
}

// Two groups may reduce as much at the same time, under the same name. What tells them apart is that the ranks
// of one leave together.
const Span* Causes::latest_peer(const Span& span) const {
  const Span* mine = span.category == Category::stall ? collective_behind(span) : &span;
  if (mine == nullptr || mine->category != Category::collective) return nullptr;
  const Span* latest = mine;
  for (const Span* other : collectives_.at(mine->name)) {
    if (other->start_ns >= mine->end_ns) break;
    const bool same = other->bytes == mine->bytes && other->step == mine->step &&
                      std::abs(other->end_ns - mine->end_ns) <= leaves_together_ns;
    const bool elsewhere = recording_.actors.at(other->actor).rank != recording_.actors.at(mine->actor).rank;
    if (same && elsewhere && other->start_ns > latest->start_ns + shortest_wait_ns) latest = other;
  }
  return latest == mine ? nullptr : latest;
}

}  // namespace d9d::trace
