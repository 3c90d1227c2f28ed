#include "runtime/trace/recorder.hpp"

#include <algorithm>

namespace d9d::trace {
namespace {

// Which slot this thread used last, of which recorder. Plain pointers keep the hot path free of guards.
thread_local const void* cached_identity = nullptr;
thread_local void* cached_slot = nullptr;
thread_local std::shared_ptr<const char> cached_identity_owner;

void sort_by_start(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

Recorder::Recorder(RecorderOptions options)
    : options_(options), identity_(std::make_shared<const char>('r')), names_(options.node) {
  const SpanRing validates_the_capacity(options.spans_per_thread);
}

Recorder::~Recorder() = default;

Recorder::Slot& Recorder::my_slot() {
  if (cached_identity == identity_.get()) return *static_cast<Slot*>(cached_slot);
  return find_or_make_slot();
}

Recorder::Slot& Recorder::find_or_make_slot() {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Slot>& slot = slots_[std::this_thread::get_id()];
  if (!slot) {
    const std::uint64_t thread_number = slots_.size();
    slot = std::make_unique<Slot>(options_.spans_per_thread,
                                  std::uint64_t{options_.node} << 48 | (thread_number & 0xFFF) << 36);
  }
  cached_identity = identity_.get();
  cached_identity_owner = identity_;
  cached_slot = slot.get();
  return *slot;
}

void Recorder::counter(std::uint32_t track, std::uint32_t name, double value, std::int64_t now_ns) {
  if (!enabled()) return;
  my_ring().push({.start_ns = now_ns,
                  .end_ns = now_ns,
                  .bytes = std::bit_cast<std::uint64_t>(value),
                  .actor = track,
                  .name = name,
                  .category = Category::counter});
}

std::uint64_t Recorder::next_flow() {
  Slot& slot = my_slot();
  return slot.flow_base | (slot.ring.next_serial() & 0xFFFFFFFFFULL);
}

std::vector<Recorder::Slot*> Recorder::slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<Slot*> result;
  for (const auto& [thread, slot] : slots_) result.push_back(slot.get());
  return result;
}

Recording Recorder::drain() {
  Recording recording;
  for (Slot* slot : slots()) {
    slot->drained = slot->ring.read(slot->drained, recording.spans, recording.lost);
  }
  recording.names = names_.texts();
  recording.actors = names_.actors();
  sort_by_start(recording.spans);
  return recording;
}

Recording Recorder::snapshot() const {
  Recording recording;
  for (const Slot* slot : slots()) slot->ring.read(0, recording.spans, recording.lost);
  recording.names = names_.texts();
  recording.actors = names_.actors();
  sort_by_start(recording.spans);
  return recording;
}

}  // namespace d9d::trace
