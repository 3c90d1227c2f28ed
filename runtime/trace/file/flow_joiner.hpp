#pragma once
// Joins spans that sent messages with the spans that handled them, in whatever
// order the two arrive.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace d9d::trace {

// Where a slice is in the trace.
struct Slice {
  int pid = 0;
  int tid = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t enqueue_ns = 0;  // of the receiver; 0: unknown
};

class FlowJoiner {
 public:
  struct Arrow {
    Slice from;
    Slice to;
  };

  // Remembers at most `limit` senders and `limit` waiting receivers, dropping the oldest.
  explicit FlowJoiner(std::size_t limit = 1U << 20) : limit_(limit) {}

  // Adds a span with these flow ids (0: none) and returns the arrows that it completes.
  std::vector<Arrow> see(const Slice& slice, std::uint64_t flow_in, std::uint64_t flow_out);

  // The number of receivers without a sender: its node is not in this trace, or
  // its span was overwritten.
  std::size_t unmatched() const { return waiting_count_ + dropped_; }

 private:
  void forget_oldest();

  const std::size_t limit_;
  std::unordered_map<std::uint64_t, Slice> senders_;
  std::deque<std::uint64_t> sender_order_;
  std::unordered_map<std::uint64_t, std::vector<Slice>> waiting_;
  std::deque<std::uint64_t> waiting_order_;
  std::size_t waiting_count_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace d9d::trace
