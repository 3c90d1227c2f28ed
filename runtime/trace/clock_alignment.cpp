#include "runtime/trace/clock_alignment.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace d9d::trace {
namespace {

constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::min();

// at(a, b): the offset of b is at least that of a plus this.
class Bounds {
 public:
  explicit Bounds(std::size_t nodes) : nodes_(nodes), least_(nodes * nodes, no_bound) {
    for (std::size_t node = 0; node < nodes; ++node) at(node, node) = 0;
  }
  std::int64_t& at(std::size_t a, std::size_t b) { return least_[a * nodes_ + b]; }
  std::int64_t at(std::size_t a, std::size_t b) const { return least_[a * nodes_ + b]; }
  std::size_t nodes() const { return nodes_; }

  // Adds every bound that follows from two others (Floyd and Warshall). Clocks that run at different
  // speeds have no constant offset, so bounds may contradict each other: they meet in the middle, and
  // the largest contradiction is returned.
  std::int64_t follow_all() {
    std::int64_t contradiction = meet_in_the_middle();
    for (std::size_t by = 0; by < nodes_; ++by) {
      for (std::size_t a = 0; a < nodes_; ++a) {
        if (at(a, by) == no_bound) continue;
        for (std::size_t b = 0; b < nodes_; ++b) {
          if (at(by, b) != no_bound) at(a, b) = std::max(at(a, b), at(a, by) + at(by, b));
        }
        contradiction = std::max(contradiction, at(a, a));
        at(a, a) = 0;
      }
    }
    return contradiction;
  }

 private:
  std::int64_t meet_in_the_middle() {
    std::int64_t worst = 0;
    for (std::size_t a = 0; a < nodes_; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (at(a, b) == no_bound || at(b, a) == no_bound) continue;
        const std::int64_t by = at(a, b) + at(b, a);
        if (by <= 0) continue;
        at(a, b) -= (by + 1) / 2;
        at(b, a) -= (by + 1) / 2;
        worst = std::max(worst, (by + 1) / 2);
      }
    }
    return worst;
  }

  std::size_t nodes_;
  std::vector<std::int64_t> least_;
};

// Which node drew a flow id: what the id says, or whose span has it.
class Senders {
 public:
  explicit Senders(const std::vector<NodeRecording>& parts) {
    for (const NodeRecording& part : parts) {
      for (const Span& span : part.recording.spans) {
        if (span.flow_out != 0 && !node_of_flow(span.flow_out)) before_forming_[span.flow_out] = part.node;
      }
    }
  }
  std::optional<int> of(std::uint64_t flow) const {
    if (const auto node = node_of_flow(flow)) return node;
    const auto found = before_forming_.find(flow);
    return found == before_forming_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::uint64_t, int> before_forming_;
};

class Alignment {
 public:
  explicit Alignment(std::vector<NodeRecording>& parts) : parts_(parts), senders_(parts) {
    for (const NodeRecording& part : parts) offsets_.try_emplace(part.node, part.offset_ns);
    for (const auto& [node, offset] : offsets_) nodes_.push_back(node);
  }

  std::int64_t run() {
    Bounds bounds = bounds_of_messages();
    const std::int64_t contradiction = bounds.follow_all();
    const std::int64_t width = widest(bounds);
    choose(bounds);
    for (NodeRecording& part : parts_) {
      part.offset_ns = offsets_.at(part.node);
      for (Span& span : part.recording.spans) settle(span, part);
    }
    return (width + 1) / 2 + contradiction;
  }

 private:
  std::size_t place_of(int node) const {
    return static_cast<std::size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }

  Bounds bounds_of_messages() const {
    Bounds bounds(nodes_.size());
    for (const NodeRecording& part : parts_) {
      for (const Span& span : part.recording.spans) {
        if (!span.sent_elsewhere) continue;
        const auto sender = senders_.of(span.flow_in);
        if (!sender || !offsets_.contains(*sender) || *sender == part.node) continue;
        std::int64_t& least = bounds.at(place_of(*sender), place_of(part.node));
        least = std::max(least, span.enqueue_ns - span.start_ns);
      }
    }
    return bounds;
  }

  // Between the clocks of the first node and any other.
  static std::int64_t widest(const Bounds& bounds) {
    std::int64_t width = 0;
    for (std::size_t node = 1; node < bounds.nodes(); ++node) {
      const std::int64_t least = bounds.at(0, node), most = bounds.at(node, 0);
      if (least != no_bound && most != no_bound) width = std::max(width, -most - least);
    }
    return width;
  }

  // Chooses the offset of one node after the other: the measured one, moved into the bounds set by
  // the nodes chosen before.
  void choose(const Bounds& bounds) {
    for (std::size_t node = 1; node < nodes_.size(); ++node) {
      std::int64_t& offset = offsets_.at(nodes_[node]);
      for (std::size_t before = 0; before < node; ++before) {
        const std::int64_t chosen = offsets_.at(nodes_[before]);
        if (bounds.at(node, before) != no_bound) offset = std::min(offset, chosen - bounds.at(node, before));
      }
      for (std::size_t before = 0; before < node; ++before) {
        const std::int64_t chosen = offsets_.at(nodes_[before]);
        if (bounds.at(before, node) != no_bound) offset = std::max(offset, chosen + bounds.at(before, node));
      }
    }
  }

  void settle(Span& span, const NodeRecording& part) const {
    if (!std::exchange(span.sent_elsewhere, false)) return;
    const auto sender = senders_.of(span.flow_in);
    if (!sender || !offsets_.contains(*sender)) {
      span.enqueue_ns = 0;
      return;
    }
    const std::int64_t sent = span.enqueue_ns + offsets_.at(*sender) - part.offset_ns;
    span.enqueue_ns = std::min(sent, span.start_ns);
  }

  std::vector<NodeRecording>& parts_;
  const Senders senders_;
  std::map<int, std::int64_t> offsets_;
  std::vector<int> nodes_;
};

}  // namespace

std::int64_t align_clocks(std::vector<NodeRecording>& parts) {
  return Alignment(parts).run();
}

}  // namespace d9d::trace
