#include "runtime/job/plan/rank_plan.hpp"

#include <set>

#include "runtime/family/family_model.hpp"
#include "runtime/mesh/action_peers.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

JobPlan plan_job(const LoadedJob& loaded, const ScheduleConfig& schedule) {
  const JobConfig& job = loaded.job;
  JobPlan plan{.topology = topology_of(schedule, job.mesh.pipeline_parallel),
               .microbatches = microbatches_per_step(job),
               .gradient_groups = gradient_groups(MeshDomains(job.mesh), job.parallelism)};
  const int num_stages = plan.topology.num_stages();
  for (int stage = 0; stage < num_stages; ++stage)
    plan.stages.push_back({.stage = stage, .pipeline_rank = plan.topology.rank_of(stage)});
  if (!loaded.model) return plan;
  const auto layers = layers_of_stages(*loaded.model, num_stages, loaded.split);
  for (StagePlan& stage : plan.stages) {
    stage.layers = layers[static_cast<std::size_t>(stage.stage)];
    stage.parameters = count_parameters(*loaded.model, {stage.stage, num_stages}, loaded.split).total;
  }
  return plan;
}

RankPlan plan_rank(const JobConfig& job, const JobPlan& plan, const Plan& mesh, int rank) {
  RankPlan own{.place = mesh.placement(rank), .same_order = {rank}};
  const Group pipeline = mesh.group(rank, regular_domain, {"pp"});
  std::set<int> remote;
  for (const StagePlan& stage : plan.stages) {
    const int holder = pipeline.ranks.at(static_cast<std::size_t>(stage.pipeline_rank));
    own.rank_of_stage.push_back(holder);
    if (holder == rank) own.stages.push_back(stage);
    if (mesh.placement(holder).node != own.place.node) remote.insert(holder);
  }
  own.remote_ranks.assign(remote.begin(), remote.end());
  if (job.trainer.pipelining.order == CursorOrder::dynamic) own.same_order = action_peers(mesh, rank);
  own.counts_tokens = own.place.pipeline == 0 && own.place.tensor == 0;
  return own;
}

}  // namespace d9d
