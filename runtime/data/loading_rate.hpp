#pragma once
// Measures how fast a job's data become microbatches, and how many of their tokens have a label. No
// torch in this header.

#include <chrono>
#include <cstdint>

#include "runtime/data/batch_maths.hpp"

namespace d9d {

class Collation;
class SampleSource;

struct LoadingRate {
  std::uint64_t tokens = 0;   // in all microbatches
  std::uint64_t counted = 0;  // those with a label
  double seconds = 0;
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

// Makes the microbatches of data rank 0 from sample 0 on, on this thread, as its loader does before
// the task's build_forward_inputs. Stops after `least` has passed, and after one microbatch at the
// earliest. `collation`: see read_microbatch(). A batch without input_ids counts 0 `tokens`; one
// without labels counts 0 `counted`.
LoadingRate loading_rate(const SampleSource& source, const BatchMaths& maths, const Collation* collation,
                         std::chrono::milliseconds least);

}  // namespace d9d
