#include "actors/device_tracks.hpp"

#include <string>

namespace d9d {
namespace {

constexpr std::array<const char*, 4> streams{"compute", "communicate", "copy_in", "copy_out"};

trace::Category shown_as(LoggedWork::Kind kind) {
  switch (kind) {
    case LoggedWork::Kind::compute:
      return trace::Category::compute;
    case LoggedWork::Kind::stall:
      return trace::Category::stall;
    default:
      return trace::Category::collective;
  }
}

}  // namespace

DeviceTracks::DeviceTracks(WorkLog* log, trace::Recorder* recorder, int rank)
    : log_(log), recorder_(recorder), names_(recorder) {
  if (log_ == nullptr || recorder_ == nullptr) return;
  for (std::size_t stream = 0; stream < streams.size(); ++stream)
    tracks_[stream] = recorder_->actor(std::string(trace::device_tracks) + streams[stream], rank);
}

trace::Span DeviceTracks::begun(trace::Span work, bool evaluation) {
  work.category = category_of(work.category);
  if (log_ == nullptr) return work;
  if (recorder_ != nullptr) work.flow_out = recorder_->next_flow();
  log_->set_origin({.step = work.step, .flow = work.flow_out, .evaluation = evaluation});
  return work;
}

double DeviceTracks::record_done() {
  if (log_ == nullptr) return 0;
  double seconds = 0;
  for (const LoggedWork& work : log_->take_done()) {
    if (work.kind == LoggedWork::Kind::compute && work.stage >= 0 && !work.origin.evaluation)
      seconds += work.seconds();
    if (recorder_ != nullptr) recorder_->record(span_of(work));
  }
  return seconds;
}

// A stall is a part of what was given.
trace::Span DeviceTracks::span_of(const LoggedWork& done) {
  const bool copies = done.kind == LoggedWork::Kind::transfer;
  return {.start_ns = done.begin_ns,
          .end_ns = done.end_ns,
          .bytes = done.bytes,
          .flow_in = done.kind == LoggedWork::Kind::stall ? 0 : done.origin.flow,
          .actor = tracks_.at(static_cast<std::size_t>(done.stream)),
          .name = names_(copies ? "copy for " + done.name : done.name),
          .step = done.origin.step,
          .stage = static_cast<std::int16_t>(done.stage),
          .microbatch = static_cast<std::int16_t>(done.microbatch),
          .category = shown_as(done.kind)};
}

}  // namespace d9d
