#include "actors/notes/device_tracks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

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
    : log_(log), recorder_(recorder), rank_(rank), names_(recorder) {
  if (log_ == nullptr || recorder_ == nullptr) return;
  for (const StreamRole role : stream_roles)
    tracks_[static_cast<std::size_t>(role)] =
        recorder_->actor(std::string(trace::device_tracks) + name_of(role), rank);
}

void DeviceTracks::trace_kernels(Device* device, const TraceWindow& window) {
  if (recorder_ == nullptr || device == nullptr) return;
  device_ = device;
  window_ = window;
  for (const StreamRole role : stream_roles)
    kernel_tracks_[static_cast<std::size_t>(role)] =
        recorder_->actor(std::string(trace::kernel_tracks) + name_of(role), rank_);
}

void DeviceTracks::begin_step(std::uint64_t step) {
  if (device_ != nullptr && window_.has(step) != notes_kernels_) switch_kernels();
  step_ = step;
}

// Kernels that ran after the work of the window's last step was recorded, above all its update, still
// go into the trace.
void DeviceTracks::switch_kernels() {
  if (notes_kernels_) record_kernels({});
  notes_kernels_ = !notes_kernels_;
  const std::string refused = device_->note_kernels(notes_kernels_);
  if (refused.empty()) return;
  notes_kernels_ = false;
  log::warn("rank {}: kernels of its device are not in the trace: {}", rank_, refused);
  device_ = nullptr;
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
  std::vector<LoggedWork> done = log_->take_done();
  for (const LoggedWork& work : done) {
    if (work.kind == LoggedWork::Kind::compute && work.stage >= 0 && !work.origin.evaluation)
      seconds += work.seconds();
    if (recorder_ != nullptr) recorder_->record(span_of(work));
  }
  if (notes_kernels_) record_kernels(std::move(done));
  return seconds;
}

// A kernel belongs to the work that is running at the kernel's middle, because the clocks of kernels
// and of events differ a little. Some kernels are reported a step late, so the work of the step
// before is searched, too.
void DeviceTracks::record_kernels(std::vector<LoggedWork> done) {
  std::vector<const LoggedWork*> by_begin;
  for (const auto* works : {&done_before_, &done})
    for (const LoggedWork& work : *works)
      if (work.kind != LoggedWork::Kind::stall) by_begin.push_back(&work);
  const auto begins_first = [](const LoggedWork* a, const LoggedWork* b) {
    return a->begin_ns < b->begin_ns;
  };
  std::sort(by_begin.begin(), by_begin.end(), begins_first);
  std::vector<trace::Span> spans;
  for (const KernelRun& kernel : device_->take_kernels()) {
    const std::int64_t middle = kernel.begin_ns + (kernel.end_ns - kernel.begin_ns) / 2;
    auto at = std::partition_point(by_begin.begin(), by_begin.end(),
                                   [middle](const LoggedWork* work) { return work->begin_ns <= middle; });
    const LoggedWork* inside = nullptr;
    while (inside == nullptr && at != by_begin.begin()) {
      const LoggedWork* const before = *--at;
      if (before->stream == kernel.stream) inside = before;
    }
    const bool known = inside != nullptr && inside->end_ns >= middle;
    spans.push_back({.start_ns = kernel.begin_ns,
                     .end_ns = kernel.end_ns,
                     .actor = kernel_tracks_.at(static_cast<std::size_t>(kernel.stream)),
                     .name = names_(kernel.name),
                     .step = known ? inside->origin.step : trace::step_of_span(step_),
                     .stage = static_cast<std::int16_t>(known ? inside->stage : -1),
                     .microbatch = static_cast<std::int16_t>(known ? inside->microbatch : -1),
                     .category = trace::Category::kernel});
  }
  recorder_->record_late(spans);
  done_before_ = std::move(done);
}

// A stall has no arrow: it is a part of work that was queued already.
trace::Span DeviceTracks::span_of(const LoggedWork& done) {
  const bool copies = done.kind == LoggedWork::Kind::transfer;
  return {.start_ns = done.begin_ns,
          .end_ns = done.end_ns,
          .bytes = done.bytes,
          .flow_in = done.kind == LoggedWork::Kind::stall ? 0 : done.origin.flow,
          .actor = tracks_.at(static_cast<std::size_t>(done.stream)),
          .name = names_(copies ? std::string(trace::copy_prefix) + done.name : done.name),
          .step = done.origin.step,
          .stage = static_cast<std::int16_t>(done.stage),
          .microbatch = static_cast<std::int16_t>(done.microbatch),
          .category = shown_as(done.kind)};
}

}  // namespace d9d
