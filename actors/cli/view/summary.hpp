#pragma once
// Computes what a job would do, without running it, for `d9d-node check`. No torch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/cli/view/memory.hpp"
#include "runtime/base/config/codec.hpp"
#include "runtime/job/job_load.hpp"
#include "runtime/job/rule/optimizer_rules.hpp"

namespace d9d {

// One pipeline stage of the built-in models. Layers [layer_begin, layer_end).
struct StageSummary {
  int stage = 0;
  int pipeline_rank = 0;
  std::int64_t layer_begin = 0;
  std::int64_t layer_end = 0;
  std::int64_t parameters = 0;
};

struct JobSummary {
  std::string schedule;
  int world_size = 1;
  int num_nodes = 1;
  std::int64_t microbatches = 0;                // per step and data replica
  std::optional<std::int64_t> sequence_length;  // tokens of a sample; none: only the data knows
  double bubble = 0;                            // share of the step, simulated with unit costs
  std::int64_t parameters = 0;                  // of the whole model; 0 for a plugin's
  std::int64_t active_parameters = 0;           // used by a token
  double flops_per_token = 0;                   // forward and backward
  std::vector<StageSummary> stages;             // empty for a plugin's model
  std::vector<RankMemory> ranks;                // by pipeline rank; empty for a plugin's model
  std::vector<OptimizerGroup> groups;           // empty for a plugin's model or optimizer
};

// `schedule`: the job's schedule; one of a plugin is made already. `sequence_length`: tokens of a sample,
// if known. Throws the errors of the schedule's builder.
JobSummary summarize(const LoadedJob& loaded, const ScheduleConfig& schedule,
                     std::optional<std::int64_t> sequence_length);
config::Json to_json(const JobSummary& summary);

}  // namespace d9d
