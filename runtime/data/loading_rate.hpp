#pragma once
// How fast a job's data become microbatches, and how much of them counts. No torch in this header.

#include <chrono>
#include <cstdint>

#include "runtime/data/batch_maths.hpp"

namespace d9d {

class Collation;
class SampleSource;

struct LoadingRate {
  std::uint64_t tokens = 0;   // of all microbatches
  std::uint64_t counted = 0;  // of them with a label
  double seconds = 0;
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

// Makes the microbatches of data rank 0 from sample 0 on, on this thread and as its loader does before the task's
// build_forward_inputs, until `least` has passed; at least one. `collation`: see read_microbatch(). Where it makes no
// input_ids, `tokens` is 0; where it makes no labels, `counted` is 0.
LoadingRate loading_rate(const SampleSource& source, const BatchMaths& maths, const Collation* collation,
                         std::chrono::milliseconds least);

}  // namespace d9d
