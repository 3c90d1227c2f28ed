#pragma once
// The actors through which a rank reaches other ranks: a Collective for each group that it sums with, and
// TensorLanes to the ranks of its pipeline in other processes.

#include <memory>
#include <string>
#include <vector>

#include "actors/job/process/epoch_services.hpp"

namespace d9d {

struct RankGradients;

// The collectives that a rank of any job has. The index is part of their address; the collectives of
// gradients follow.
enum GroupIndex : int { step_group = 0, metric_group = 1, first_gradient_group = 2 };

class RankLinks {
 public:
  // The services outlive the actors; `gradients` are those of the rank.
  RankLinks(const ProcessServices& process, EpochServices& epoch, const RankPlan& plan,
            std::shared_ptr<RankGradients> gradients);

  // Makes one for the sums of a step, one for metrics, and one for each of JobPlan::gradient_groups.
  std::vector<CastMember> collectives() const;
  std::vector<ActorId> gradient_collectives() const;
  // Makes this rank's ends of its lanes. There is a lane, each way, between neighbours of the pipeline that
  // are in two processes. `closes_circle`: there is also one from the last stage to the first.
  std::vector<CastMember> lanes(bool closes_circle) const;
  // Collectives, then lanes.
  std::vector<CastMember> all(bool closes_circle) const;

 private:
  CastMember collective(int index, const std::string& use, const GradientGroup& group) const;
  CastMember lane(int sender, int receiver) const;

  const ProcessServices& process_;
  EpochServices& epoch_;
  const RankPlan plan_;
  const int rank_;
  const std::shared_ptr<RankGradients> gradients_;
};

}  // namespace d9d
