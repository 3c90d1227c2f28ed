#pragma once
// What a rank of a built-in model will hold in memory, estimated from the job alone. No torch.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/job/job_load.hpp"
#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

// Estimated bytes of a rank of this coordinate on pp; all data replicas of it are alike.
struct RankMemory {
  int pipeline_rank = 0;
  std::int64_t parameters = 0;  // shards and, at the peak, what is gathered of others'
  std::int64_t gradients = 0;   // likewise
  std::int64_t optimizer = 0;
  // While a checkpoint is written: the copy of parameters and optimizer that the rank writes. 0 without checkpointing.
  std::int64_t checkpoint = 0;
  std::int64_t activations = 0;  // at the program's peak; 0 where the sample length is not known
  int live_microbatches = 0;     // (stage, microbatch) pairs at that peak
  std::int64_t logits =
      0;  // on a GPU: of the tokens whose loss is computed at a time; see kernels/cross_entropy
  std::int64_t total() const { return parameters + gradients + optimizer + checkpoint + activations; }
};

struct RankWork {
  int pipeline_rank = 0;
  int live_microbatches = 0;      // see RankMemory
  std::int64_t microbatches = 0;  // of a step
  std::optional<std::int64_t> sequence_length;
};

// In which the gradients of a step are summed.
Dtype dtype_of_gradients(const JobConfig& job);

// Of a rank that has these stages of a job with a built-in model.
RankMemory estimate_memory(const LoadedJob& loaded, const std::vector<StagePosition>& stages,
                           const RankWork& work);

}  // namespace d9d
