#pragma once
// A rank's share of the squared global gradient norm, for any placement of parameters (W-04). Of gradients
// that several ranks hold, each of them counts a different part. So the plain sum of the shares over all
// ranks of the job counts each element of each global gradient once, and needs to know no mesh axis.

#include "runtime/train/flat_parameters.hpp"

namespace d9d {

// The sum of squares of this rank's part of a reduced bucket; the replicas' parts make up the bucket.
// Deterministic, whatever the number of threads.
double squares_share(const GradientBucket& bucket);

}  // namespace d9d
