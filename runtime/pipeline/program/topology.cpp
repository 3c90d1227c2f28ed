#include "runtime/pipeline/program/topology.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

Topology::Topology(TopologyKind kind, int num_ranks, int num_stages)
    : kind_(kind), num_ranks_(num_ranks), num_stages_(num_stages) {
  D9D_REQUIRE(num_ranks > 0 && num_stages > 0,
              "a pipeline of {} ranks and {} stages; both must be at least 1", num_ranks, num_stages);
  D9D_REQUIRE(
      kind == TopologyKind::loop || num_stages % num_ranks == 0,
      "the v topology needs a number of stages divisible by the pipeline ranks; given {} stages on {} ranks",
      num_stages, num_ranks);
}

int Topology::rank_of(int stage) const {
  D9D_CHECK(stage >= 0 && stage < num_stages_, "stage {} of {}", stage, num_stages_);
  const int position = stage % num_ranks_;
  const bool backwards = kind_ == TopologyKind::v && (stage / num_ranks_) % 2 == 1;
  return backwards ? num_ranks_ - 1 - position : position;
}

std::vector<int> Topology::stages_of(int rank) const {
  std::vector<int> stages;
  for (int stage = 0; stage < num_stages_; ++stage) {
    if (rank_of(stage) == rank) stages.push_back(stage);
  }
  return stages;
}

}  // namespace d9d
