#pragma once
// Estimates the memory of a rank of a built-in model from the job alone. No torch.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/job/job_load.hpp"
#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

// Estimated bytes of a rank with this coordinate on pp. All its data replicas are alike.
struct RankMemory {
  int pipeline_rank = 0;
  std::int64_t parameters = 0;  // the rank's shards and, at the peak, the gathered ones of others
  std::int64_t gradients = 0;   // in the same way
  std::int64_t optimizer = 0;
  // The copy of parameters and optimizer while the rank writes a checkpoint; 0 without checkpointing.
  std::int64_t checkpoint = 0;
  std::int64_t activations = 0;  // at the program's peak; 0 if the sample length is unknown
  int live_microbatches = 0;     // (stage, microbatch) pairs at that peak
  std::int64_t logits =
      0;  // on a GPU: for the tokens whose loss is computed at a time; see kernels/cross_entropy
  std::int64_t total() const { return parameters + gradients + optimizer + checkpoint + activations; }
};

struct RankWork {
  int pipeline_rank = 0;
  int live_microbatches = 0;      // see RankMemory
  std::int64_t microbatches = 0;  // per step
  std::optional<std::int64_t> sequence_length;
};

// The dtype in which the gradients of a step are summed.
Dtype dtype_of_gradients(const JobConfig& job);

// Estimates a rank that has these stages of a job with a built-in model.
RankMemory estimate_memory(const LoadedJob& loaded, const std::vector<StagePosition>& stages,
                           const RankWork& work);

}  // namespace d9d
