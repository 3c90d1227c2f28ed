#pragma once
// The actors through which a rank reaches others: a Collective for each group that it sums with, and TensorLanes to the
// ranks of its pipeline in other processes.

#include <memory>
#include <string>
#include <vector>

#include "actors/job/epoch_services.hpp"

namespace d9d {

struct GradientGroup;
struct RankGradients;

// The collectives of a rank that any job has; the index is part of their address. Those of gradients follow.
enum GroupIndex : int { step_group = 0, metric_group = 1, first_gradient_group = 2 };

class RankLinks {
 public:
  // `epoch` and `job` outlive the actors; `gradients` are those of the rank.
  RankLinks(EpochServices& epoch, const JobConfig& job, int rank, std::shared_ptr<RankGradients> gradients);

  // Of the step's sums, of metrics, and one for each group of gradient_groups().
  std::vector<CastMember> collectives() const;
  std::vector<ActorId> gradient_collectives() const;
  // Both ends of this rank's pairs where a pair is of two processes. `ranks_of_stages`: global; `closes_circle`: the last
  // stage sends to the first one, too.
  std::vector<CastMember> lanes(const std::vector<int>& ranks_of_stages, bool closes_circle) const;

 private:
  CastMember collective(int index, const std::string& use, const GradientGroup& group) const;
  CastMember lane(int sender, int receiver) const;
  std::vector<GradientGroup> groups() const;

  EpochServices& epoch_;
  const JobConfig& job_;
  const int rank_;
  const std::shared_ptr<RankGradients> gradients_;
};

}  // namespace d9d
