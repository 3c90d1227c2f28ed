#pragma once
// The flight recorder of a process: a ring of spans per thread, written without
// locks, read by the TraceCollector. One per process, handed in by pointer;
// a null pointer means tracing is off. Thread-safe except where noted.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/trace/record/names.hpp"
#include "runtime/trace/record/ring.hpp"
#include "runtime/trace/record/span.hpp"

namespace d9d::trace {

// A flow id is the number that joins the span which sent a message with the span which handled it; unique in the job.
//   a node that knows its index   [node 16][thread 12][serial 36], node below 2^15
//   before the job has formed     [1][random 35][thread 12][serial 16]: no two processes draw the same
inline constexpr int unknown_node = -1;
inline constexpr int num_nodes_max = 1 << 15;

namespace detail {
inline constexpr int flow_thread_bits = 12;
inline constexpr std::uint64_t flow_before_forming = 1ULL << 63;
}  // namespace detail

// Returns the common prefix of a process's flow ids. `random` is used while the node is not known.
constexpr std::uint64_t flow_prefix(int node, std::uint64_t random) {
  if (node != unknown_node) return static_cast<std::uint64_t>(node) << 48;
  return detail::flow_before_forming | (random & 0x7FFFFFFFFULL) << 28;
}

// Threads and serials count from 1, so that no flow id is 0.
constexpr std::uint64_t flow_id(std::uint64_t prefix, std::uint64_t thread, std::uint64_t serial) {
  const int serial_bits = (prefix & detail::flow_before_forming) != 0 ? 16 : 36;
  const auto low = [](std::uint64_t value, int bits) { return value & ((1ULL << bits) - 1); };
  return prefix | low(thread, detail::flow_thread_bits) << serial_bits | low(serial, serial_bits);
}

// The node that drew a flow id; nothing for one that was drawn before the job had formed.
constexpr std::optional<int> node_of_flow(std::uint64_t flow) {
  if ((flow & detail::flow_before_forming) != 0) return std::nullopt;
  return static_cast<int>(flow >> 48);
}

struct RecorderOptions {
  int node = 0;                             // makes flow ids unique in the job; unknown_node: see set_node()
  std::size_t spans_per_thread = 1U << 14;  // power of two; 72 B each
  std::size_t late_spans_max = 1U << 20;    // 72 B each, of all threads
  std::uint64_t random = 0;                 // random number of the process, for flow ids before node is known
};

// The contents of a recorder; ids in the spans index `names` and `actors`. If a thread's ring has
// overwritten unread spans, all threads' spans that started before its oldest whole record are left
// out: otherwise the busiest actor's missing spans would look like idleness.
struct Recording {
  std::vector<Span> spans;  // sorted by start_ns
  std::vector<std::string> names;
  std::vector<ActorName> actors;
  std::uint64_t lost = 0;  // spans overwritten or left out
};

class Recorder {
 public:
  explicit Recorder(RecorderOptions options = {});
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Sets the node's index, for a process that learns it when the job has formed. Flow ids
  // drawn before stay unique.
  void set_node(int node);

  std::uint32_t intern(std::string_view text) { return names_.intern(text); }
  std::uint32_t actor(std::string_view name, int rank = -1) { return names_.actor(name, rank); }

  void record(const Span& span) { my_ring().push(span); }
  // Records many spans that ended some time ago and would push others out of the thread's ring.
  // Keeps the last late_spans_max of them.
  void record_late(const std::vector<Span>& spans);
  // Records a value over time, drawn as a graph: mailbox depth, memory, credits. `track` is
  // an id of actor().
  void counter(std::uint32_t track, std::uint32_t name, double value, std::int64_t now_ns);

  // Draws a number, never 0, for Span::flow_out and for the header of the messages sent
  // in the span (flow_id() above).
  std::uint64_t next_flow();

  // Returns everything recorded since the last drain. One thread drains at
  // a time (the TraceCollector).
  Recording drain();
  // Returns all spans in the rings, drained or not: for a report of what came before a failure.
  Recording snapshot() const;

 private:
  struct Slot {
    Slot(std::size_t capacity, std::uint64_t thread) : ring(capacity), thread(thread) {}
    SpanRing ring;
    const std::uint64_t thread;  // from 1
    std::uint64_t drained = 0;
  };
  SpanRing& my_ring() { return my_slot().ring; }
  Slot& my_slot();
  Slot& find_or_make_slot();
  std::vector<Slot*> slots() const;
  Recording named(std::vector<Span> spans, std::uint64_t lost, std::int64_t whole_from_ns) const;

  const RecorderOptions options_;
  // Its address is the recorder's identity in each thread's
  // cache; a cache keeps it alive, so it is never reused.
  const std::shared_ptr<const char> identity_;
  std::atomic<std::uint64_t> flow_prefix_;
  Names names_;
  mutable std::mutex mutex_;
  std::deque<Span> late_;
  std::uint64_t late_lost_ = 0;
  std::map<std::thread::id, std::unique_ptr<Slot>>
      slots_;  // a dead thread's slot stays, because its spans are still to be read
};

}  // namespace d9d::trace
