#pragma once
// The experts of a rank's stages over a step: how many tokens each got, for the metric of it, and the balancing
// of routers by the counts of all ranks (RoutedStage). Used on the stage's compute thread. Needs torch.

#include <memory>
#include <vector>

#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

class ExpertLoad;
class RoutedStage;
class StageModule;

class RankExperts {
 public:
  // Keeps a reference to `domains`. `open`: for end_step(), called when a router balances itself only.
  RankExperts(const MeshDomains& domains, int rank, OpenGroup open)
      : groups_(domains, rank, std::move(open)) {}

  // A module without experts is left out. It outlives this object.
  void add(StageModule& module);
  // Adds this rank's tokens of the step.
  void count(ExpertLoad& load) const;
  // Balances the routers where the step ended with an `update`, and starts the counts anew. All ranks of a
  // stage call it at the same point of their work, and wait for each other there if routers balance themselves.
  void end_step(bool update);

 private:
  void balance();

  StageGroups groups_;
  std::vector<RoutedStage*> stages_;
};

}  // namespace d9d
