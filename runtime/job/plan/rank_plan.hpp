#pragma once
// The plan of a job: which stages, layers and parameters each of its ranks holds, and with which ranks it
// communicates. Computed once from the job file and read by `d9d-node check`, by the estimate of memory
// (rank_memory.hpp) and by the cast, which makes a rank's actors. Values only; no torch.

#include <cstdint>
#include <vector>

#include "runtime/job/job_load.hpp"
#include "runtime/job/plan/gradient_groups.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

// One pipeline stage. Layers and parameters are empty for a plugin's model.
struct StagePlan {
  int stage = 0;
  int pipeline_rank = 0;  // the coordinate on pp of the ranks that hold it
  LayerRange layers{};
  std::int64_t parameters = 0;
};

// What is the same on all ranks and does not depend on the nodes that join.
struct JobPlan {
  Topology topology{TopologyKind::loop, 1, 1};
  std::vector<StagePlan> stages;               // of the whole pipeline, in order
  std::int64_t microbatches = 0;               // per step and data replica
  std::vector<GradientGroup> gradient_groups;  // over which ranks may have to reduce gradients
};
// `schedule`: the job's; one of a plugin is made already. Input error if a stage has no layer.
JobPlan plan_job(const LoadedJob& loaded, const ScheduleConfig& schedule);

// What one rank holds, and which ranks it reaches. All ranks are global.
struct RankPlan {
  RankPlacement place{};           // its coordinates, and its node
  std::vector<StagePlan> stages;   // that it holds
  std::vector<int> rank_of_stage;  // for each stage of its pipeline
  std::vector<int> remote_ranks;   // those of its pipeline that other processes have, ascending
  std::vector<int> same_order;     // ranks that run their actions in one order with it; the first one leads
  bool counts_tokens = true;       // it is the one that counts among the ranks that see the same tokens
};
RankPlan plan_rank(const JobConfig& job, const JobPlan& plan, const Plan& mesh, int rank);

}  // namespace d9d
