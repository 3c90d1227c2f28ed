#include "runtime/trace/why/device_work.hpp"

#include <algorithm>
#include <cstdlib>

namespace d9d::trace {
namespace {

constexpr std::int64_t clocks_apart_ns = 20'000;  // of two devices

bool ends_before(const Span* a, const Span* b) {
  return a->end_ns < b->end_ns;
}

}  // namespace

DeviceWork::DeviceWork(const Recording& recording) : recording_(recording) {
  for (const Span& span : recording.spans) {
    if (span.category == Category::launch && span.flow_out != 0) launches_[span.flow_out] = &span;
    const ActorName& track = recording.actors.at(span.actor);
    if (span.category == Category::message && span.flow_in != 0) heard_.emplace(span.flow_in, track.rank);
    if (track.rank < 0 || !track.name.starts_with(device_tracks)) continue;
    const bool copies = recording.names.at(span.name).starts_with(copy_prefix);
    if (copies && span.category == Category::collective) copies_[span.flow_in] = &span;
    if (span.end_ns <= span.start_ns) continue;
    if (span.category == Category::stall) stalls_[span.actor].push_back(&span);
    if (span.category == Category::compute || span.category == Category::collective)
      by_end_[track.rank].push_back(&span);
  }
  for (auto& [rank, spans] : by_end_) std::stable_sort(spans.begin(), spans.end(), ends_before);
}

const Span* DeviceWork::last_before(int rank, std::int64_t ns) const {
  const auto found = by_end_.find(rank);
  if (found == by_end_.end()) return nullptr;
  const auto after = std::partition_point(found->second.begin(), found->second.end(),
                                          [ns](const Span* span) { return span->end_ns <= ns; });
  return after == found->second.begin() ? nullptr : *std::prev(after);
}

const Span* DeviceWork::stall_in(const Span& work, std::int64_t ns) const {
  const auto found = stalls_.find(work.actor);
  if (found == stalls_.end()) return nullptr;
  const auto after = std::partition_point(found->second.begin(), found->second.end(),
                                          [ns](const Span* stall) { return stall->start_ns < ns; });
  if (after == found->second.begin() || (*std::prev(after))->start_ns < work.start_ns) return nullptr;
  return *std::prev(after);
}

// Finds the neighbouring stage's last action on the same microbatch that ended before the copy
// began and whose message the rank of the copy has handled too.
const Span* DeviceWork::computed_for(const Span& work) const {
  const Span* const taker = launch_of(work);
  const auto copied = copies_.find(work.flow_in);
  if (taker == nullptr || copied == copies_.end()) return nullptr;
  const Span& copy = *copied->second;
  const int rank = recording_.actors.at(copy.actor).rank;
  for (const auto& [other, spans] : by_end_) {
    if (other == rank) continue;
    const auto after = std::partition_point(spans.begin(), spans.end(), [&copy](const Span* span) {
      return span->end_ns <= copy.start_ns + clocks_apart_ns;
    });
    const auto made =
        std::find_if(std::make_reverse_iterator(after), spans.rend(), [this, taker, rank](const Span* span) {
          return span->category == Category::compute && span->step == taker->step &&
                 span->microbatch == taker->microbatch && std::abs(span->stage - taker->stage) == 1 &&
                 heard_.contains({span->flow_in, rank});
        });
    if (made != spans.rend()) return *made;
  }
  return nullptr;
}

const Span* DeviceWork::launch_of(const Span& work) const {
  const auto found = launches_.find(work.flow_in);
  return work.flow_in == 0 || found == launches_.end() ? nullptr : found->second;
}

}  // namespace d9d::trace
