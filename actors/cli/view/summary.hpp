#pragma once
// Computes what a job would do, without running it, for `d9d-node check`. No torch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/codec.hpp"
#include "runtime/job/plan/rank_memory.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"

namespace d9d {

struct JobSummary {
  std::string schedule;
  int world_size = 1;
  int num_nodes = 1;
  std::optional<std::int64_t> sequence_length;  // tokens of a sample; none: only the data knows
  std::int64_t parameters = 0;                  // of the whole model; 0 for a plugin's
  std::int64_t active_parameters = 0;           // used by a token
  double flops_per_token = 0;                   // forward and backward
  JobPlan plan;
  StepForecast forecast;
  std::vector<RankMemory> ranks;       // by pipeline rank; empty for a plugin's model
  std::vector<OptimizerGroup> groups;  // empty for a plugin's model or optimizer
};

// `schedule`: the job's schedule; one of a plugin is made already. `plan`: made with it. `sequence_length`:
// tokens of a sample, if known. `texts`: of rollouts and actors.
JobSummary summarize(const LoadedJob& loaded, const ScheduleConfig& schedule, JobPlan plan,
                     std::optional<std::int64_t> sequence_length,
                     const std::vector<WrittenTexts>& texts = {});
config::Json to_json(const JobSummary& summary);

}  // namespace d9d
