#include "runtime/trace/record/recorder.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d::trace {
namespace {

// Which slot this thread used last, of which recorder. Plain pointers keep the hot path free of guards.
thread_local const void* cached_identity = nullptr;
thread_local void* cached_slot = nullptr;
thread_local std::shared_ptr<const char> cached_identity_owner;

constexpr std::int64_t always = std::numeric_limits<std::int64_t>::min();

// Spans are recorded when they end. So where a ring overwrote some, it still holds all that ended after the
// oldest one left, and with that all that started after it.
std::uint64_t read_ring(const SpanRing& ring, std::uint64_t from, std::vector<Span>& spans,
                        std::uint64_t& lost, std::int64_t& whole_from_ns) {
  const std::size_t first = spans.size();
  std::uint64_t lost_here = 0;
  const std::uint64_t next = ring.read(from, spans, lost_here);
  if (lost_here > 0 && first < spans.size()) whole_from_ns = std::max(whole_from_ns, spans[first].end_ns);
  lost += lost_here;
  return next;
}

}  // namespace

Recorder::Recorder(RecorderOptions options)
    : options_(options),
      identity_(std::make_shared<const char>('r')),
      flow_prefix_(flow_prefix(options.node, options.random)),
      names_(options.node) {
  const SpanRing validates_the_capacity(options.spans_per_thread);
}

Recorder::~Recorder() = default;

void Recorder::set_node(int node) {
  D9D_CHECK(node >= 0 && node < num_nodes_max, "node {} of at most {} in a trace", node, num_nodes_max);
  flow_prefix_.store(flow_prefix(node, options_.random), std::memory_order_relaxed);
  names_.set_node(node);
}

Recorder::Slot& Recorder::my_slot() {
  if (cached_identity == identity_.get()) return *static_cast<Slot*>(cached_slot);
  return find_or_make_slot();
}

Recorder::Slot& Recorder::find_or_make_slot() {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Slot>& slot = slots_[std::this_thread::get_id()];
  if (!slot) {
    slot = std::make_unique<Slot>(options_.spans_per_thread, slots_.size());
  }
  cached_identity = identity_.get();
  cached_identity_owner = identity_;
  cached_slot = slot.get();
  return *slot;
}

void Recorder::counter(std::uint32_t track, std::uint32_t name, double value, std::int64_t now_ns) {
  my_ring().push({.start_ns = now_ns,
                  .end_ns = now_ns,
                  .bytes = std::bit_cast<std::uint64_t>(value),
                  .actor = track,
                  .name = name,
                  .category = Category::counter});
}

void Recorder::record_late(const std::vector<Span>& spans) {
  const std::lock_guard lock(mutex_);
  late_.insert(late_.end(), spans.begin(), spans.end());
  const std::size_t above = late_.size() - std::min(late_.size(), options_.late_spans_max);
  late_.erase(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(above));
  late_lost_ += above;
}

std::uint64_t Recorder::next_flow() {
  Slot& slot = my_slot();
  return flow_id(flow_prefix_.load(std::memory_order_relaxed), slot.thread, slot.ring.next_serial());
}

std::vector<Recorder::Slot*> Recorder::slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<Slot*> result;
  for (const auto& [thread, slot] : slots_) result.push_back(slot.get());
  return result;
}

Recording Recorder::drain() {
  std::vector<Span> spans;
  std::uint64_t lost = 0;
  std::int64_t whole_from_ns = always;
  for (Slot* slot : slots()) {
    slot->drained = read_ring(slot->ring, slot->drained, spans, lost, whole_from_ns);
  }
  {
    const std::lock_guard lock(mutex_);
    spans.insert(spans.end(), late_.begin(), late_.end());
    lost += late_lost_;
    late_.clear();
    late_lost_ = 0;
  }
  return named(std::move(spans), lost, whole_from_ns);
}

Recording Recorder::snapshot() const {
  std::vector<Span> spans;
  std::uint64_t lost = 0;
  std::int64_t whole_from_ns = always;
  for (const Slot* slot : slots()) read_ring(slot->ring, 0, spans, lost, whole_from_ns);
  {
    const std::lock_guard lock(mutex_);
    spans.insert(spans.end(), late_.begin(), late_.end());
    lost += late_lost_;
  }
  return named(std::move(spans), lost, whole_from_ns);
}

Recording Recorder::named(std::vector<Span> spans, std::uint64_t lost, std::int64_t whole_from_ns) const {
  lost += std::erase_if(spans, [&](const Span& span) { return span.start_ns < whole_from_ns; });
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  return {std::move(spans), names_.texts(), names_.actors(), lost};
}

}  // namespace d9d::trace
