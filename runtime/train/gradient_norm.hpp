#pragma once
// A rank's share of the global gradient norm, for any placement of parameters (W-04): every rank counts its
// own part of what it holds alike with others, so the plain sum of the shares over all ranks of the job
// counts each element of each global gradient once. No axis has to be known to whoever sums.

#include "runtime/train/flat_parameters.hpp"

namespace d9d {

// Sum of squares of this rank's part of a reduced bucket. The parts of all replicas together are the bucket.
// Deterministic, whatever the number of threads.
double squares_share(const GradientBucket& bucket);
// Largest absolute value; the maximum over all ranks is the infinity norm. A NaN stays.
double largest_share(const GradientBucket& bucket);

}  // namespace d9d
