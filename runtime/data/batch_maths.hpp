#pragma once
// Cuts a step's global batch: each data rank gets an equal block of consecutive samples, and each
// block is cut into microbatches, in order (LOOP-92). Pure integers.

#include <cstdint>

namespace d9d {

struct BatchMaths {
  std::int64_t global_batch_size = 0;  // samples a step, all data ranks together
  std::int64_t microbatch_size = 0;    // samples
  std::int64_t num_data_ranks = 0;     // dp
  std::int64_t num_microbatches = 0;   // a step, on each data rank
  // A microbatch is cut to the length of its longest sample, rounded up to a multiple of this
  // number of tokens. 0: it keeps the length that the source has.
  std::int64_t cut_unit = 0;

  std::int64_t samples_per_rank() const { return num_microbatches * microbatch_size; }
  // Returns the first sample of `data_rank` in a step. `step_begin` is the first sample of that
  // step over all ranks.
  std::uint64_t first_sample(std::uint64_t step_begin, std::int64_t data_rank) const {
    return step_begin + static_cast<std::uint64_t>(data_rank * samples_per_rank());
  }
  std::uint64_t first_of_microbatch(std::uint64_t step_begin, std::int64_t data_rank,
                                    std::int64_t microbatch) const {
    return first_sample(step_begin, data_rank) + static_cast<std::uint64_t>(microbatch * microbatch_size);
  }
};

// Input error: a size below 1, or a global batch that is not a multiple of dp x microbatch.
BatchMaths batch_maths(std::int64_t global_batch_size, std::int64_t microbatch_size,
                       std::int64_t num_data_ranks);

}  // namespace d9d
