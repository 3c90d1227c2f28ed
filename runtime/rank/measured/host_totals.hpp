#pragma once
// The numbers of a rank's step on the host, read with one wait for the device.

#include <vector>

#include "runtime/pipeline/stage/stage_losses.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/norm_parts.hpp"
#include "runtime/train/gradient/norm_type.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

// Adds up the losses of the rank's stages, and the share of the norm: of buckets without a reduction, of
// tied ones, and of `reduced`, which it empties. The order of the sums is the same as on the CPU.
StepTotals host_totals(const std::vector<StageLosses>& stages, const FlatParameters& parameters,
                       NormParts& reduced, NormType norm);

}  // namespace d9d
