#pragma once
// What the host has to know of a rank's step, with one wait for its device.

#include <vector>

#include "runtime/pipeline/stage/stage_losses.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/gradient/norm_parts.hpp"
#include "runtime/train/gradient/norm_type.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

// Losses of the rank's stages, and the norm's share of its own buckets (those without a reduction, and tied ones) and of
// `reduced`, which are taken: added up in the order of the CPU.
StepTotals host_totals(const std::vector<StageLosses>& stages, const FlatParameters& parameters,
                       NormParts& reduced, NormType norm);

}  // namespace d9d
