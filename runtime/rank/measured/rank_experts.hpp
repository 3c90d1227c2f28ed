#pragma once
// Counts the tokens of each expert of a rank's stages in a step, for the metric, and balances routers by the
// counts of all ranks (RoutedStage). Use it on the stage's compute thread. Needs torch.

#include <vector>

#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

class ExpertLoad;
class RoutedStage;
class StageModule;

// The name of the experts' loads among the metrics. Their values are called `expert_load/...`.
inline constexpr const char* expert_load_name = "expert_load";

class RankExperts {
 public:
  // Keeps a reference to `domains`. end_step() calls `open` if a router balances itself.
  RankExperts(const MeshDomains& domains, int rank, OpenGroup open)
      : groups_(domains, rank, std::move(open)) {}

  // Ignores a module without experts. `module` must outlive this object.
  void add(StageModule& module);
  // Adds this rank's tokens of the step.
  void count(ExpertLoad& load) const;
  // Balances the routers if the step ended with an `update`, and sets the counts to zero. All
  // ranks of a stage must call it at the same point of their work; if routers balance
  // themselves, they wait for each other.
  void end_step(bool update);

 private:
  void balance();

  StageGroups groups_;
  std::vector<RoutedStage*> stages_;
};

}  // namespace d9d
