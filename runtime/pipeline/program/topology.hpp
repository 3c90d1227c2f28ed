#pragma once
// The placement of pipeline stages on the ranks of the pp axis (reference PIPE-16).

#include <vector>

namespace d9d {

enum class TopologyKind {
  loop,  // stage i on rank i mod ranks
  v  // zig-zag: down the ranks, then back up; the number of stages must be divisible by the number of ranks
};

class Topology {
 public:
  Topology(TopologyKind kind, int num_ranks, int num_stages);

  TopologyKind kind() const { return kind_; }
  int num_ranks() const { return num_ranks_; }
  int num_stages() const { return num_stages_; }

  int rank_of(int stage) const;
  // Ascending.
  std::vector<int> stages_of(int rank) const;
  // The most stages any rank has.
  int stages_per_rank() const { return (num_stages_ + num_ranks_ - 1) / num_ranks_; }

  bool is_first(int stage) const { return stage == 0; }
  bool is_last(int stage) const { return stage == num_stages_ - 1; }
  bool same_rank(int stage, int other) const { return rank_of(stage) == rank_of(other); }

 private:
  TopologyKind kind_;
  int num_ranks_;
  int num_stages_;
};

}  // namespace d9d
