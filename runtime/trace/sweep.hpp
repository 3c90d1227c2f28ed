#pragma once
// Goes once over many overlapping intervals in time order and tells how many of
// each layer are open.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace d9d::trace {

template <std::size_t layers>
class Sweep {
 public:
  using Open = std::array<int, layers>;

  // Adds an interval. Empty and backward ones are ignored.
  void add(std::size_t layer, std::int64_t start_ns, std::int64_t end_ns) {
    if (end_ns <= start_ns) return;
    edges_.push_back({start_ns, static_cast<std::uint32_t>(layer), 1});
    edges_.push_back({end_ns, static_cast<std::uint32_t>(layer), -1});
  }

  // Calls visit(open, length_ns) for every stretch between neighbouring edges.
  template <class Visit>
  void walk(Visit visit) {
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
    Open open{};
    std::int64_t before = edges_.empty() ? 0 : edges_.front().ns;
    for (const Edge& edge : edges_) {
      if (edge.ns > before) visit(open, edge.ns - before);
      before = edge.ns;
      open[edge.layer] += edge.change;
    }
  }

 private:
  struct Edge {
    std::int64_t ns;
    std::uint32_t layer;
    std::int32_t change;
  };
  std::vector<Edge> edges_;
};

}  // namespace d9d::trace
