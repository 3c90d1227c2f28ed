#pragma once
// A rank's share of the global gradient norm, for any placement of parameters (W-04). When several
// ranks hold a gradient, each counts another part of it. So the plain sum of the shares over all
// ranks of the job (for the infinity norm: their maximum) counts each element of each global gradient
// once, without knowing the mesh.

#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/norm_type.hpp"

namespace d9d {

// Returns the share (norm_type.hpp) of this rank's part of a reduced bucket; the parts of all replicas make
// up the bucket. The result does not depend on the number of threads.
double share_of_norm(const GradientBucket& bucket, NormType type);
// Computes the same without a wait: fp64 [1] on the bucket's device, filled by the current stream. Pass the
// number, once it is on the host, to share_of_number() for the share.
at::Tensor share_of_norm_later(const GradientBucket& bucket, NormType type);
double share_of_number(double number, NormType type);

}  // namespace d9d
