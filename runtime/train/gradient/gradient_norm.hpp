#pragma once
// A rank's share of the global gradient norm, for any placement of parameters (W-04). Of gradients that
// several ranks hold, each of them counts a different part. So the plain sum of the shares over all ranks
// of the job (of the infinity norm: their maximum) counts each element of each global gradient once,
// and needs to know no mesh axis.

#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

// Of this rank's part of a reduced bucket; the replicas' parts make up the bucket. See norm_type.hpp.
// Deterministic, whatever the number of threads.
double share_of_norm(const GradientBucket& bucket, NormType type);
// The same without a wait: fp64 [1] on the bucket's device, filled by the current stream. share_of_number() makes the
// share of the number that the host gets.
at::Tensor share_of_norm_later(const GradientBucket& bucket, NormType type);
double share_of_number(double number, NormType type);

}  // namespace d9d
