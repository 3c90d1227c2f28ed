#pragma once
// Estimates the memory of the ranks of a job with a built-in model from its plan. No torch.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/job/plan/rank_plan.hpp"
#include "runtime/job/plan/written_texts.hpp"

namespace d9d {

// Estimated bytes of a rank with this coordinate on pp. All its data replicas are alike.
struct RankMemory {
  int pipeline_rank = 0;
  std::int64_t parameters = 0;  // the rank's shards and, at the peak, the gathered ones of others
  std::int64_t gradients = 0;   // in the same way
  std::int64_t optimizer = 0;   // moments and master weights
  // The copy of parameters and optimizer on the host while the rank writes a checkpoint; 0 without
  // checkpointing.
  std::int64_t checkpoint = 0;
  std::int64_t activations =
      0;                      // at the program's peak, and a layer's work; 0 if the sample length is unknown
  int live_microbatches = 0;  // (stage, microbatch) pairs at that peak
  // On the rank of the last stage: what the loss of a microbatch works with, or a layer if that is more.
  std::int64_t loss = 0;
  // While texts are written, when there are no activations: caches, and what a pass works with.
  std::int64_t texts = 0;
  // What two compute streams have in addition, because each keeps the memory that it frees: at most.
  std::int64_t second_stream = 0;
  std::int64_t libraries = 0;  // on a GPU: what cuBLAS takes

  std::int64_t state() const { return parameters + gradients + optimizer; }
  std::int64_t working() const { return std::max(activations + loss, texts) + second_stream; }
  std::int64_t total() const { return state() + checkpoint + working(); }
  // Without CUDA's context, which comes once for each GPU, and without NCCL's buffers.
  std::int64_t on_device() const { return state() + working() + libraries; }
};

// One step, simulated with unit costs.
struct StepForecast {
  double bubble = 0;                   // share of the step in which ranks wait
  std::vector<int> live_microbatches;  // by pipeline rank: the most (stage, microbatch) pairs it keeps
  int live_last = 0;                   // of the last stage: the most microbatches that it keeps
  // By pipeline rank, the same for the stages of each compute stream; empty: the rank has one (lane/overlap.hpp).
  std::vector<std::array<int, 2>> live_by_stream;
};
// Input errors of the schedule's builder.
StepForecast forecast_step(const JobConfig& job, const ScheduleConfig& schedule, const JobPlan& plan);

// The dtype in which the gradients of a step are summed.
Dtype dtype_of_gradients(const JobConfig& job);

// By pipeline rank; empty for a plugin's model. `sequence_length`: tokens of a sample, if known. `texts`: of rollouts
// and of actors, which only these know (written_texts.hpp); never those of two at once.
std::vector<RankMemory> estimate_memory(const LoadedJob& loaded, const JobPlan& plan,
                                        const StepForecast& forecast,
                                        std::optional<std::int64_t> sequence_length,
                                        const std::vector<WrittenTexts>& texts = {});

}  // namespace d9d
