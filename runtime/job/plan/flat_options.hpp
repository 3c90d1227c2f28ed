#pragma once
// How the flat buffers of a job's parameters are cut, for the rank that makes them and the estimate of their memory.

#include "runtime/job/section/gradient_config.hpp"
#include "runtime/train/flat_parameters.hpp"

namespace d9d {

// As the section says it. What follows from the model and the optimizer (keep_values, moved_in) is the rank's to add.
FlatOptions flat_options(const GradientManagerConfig& config);

}  // namespace d9d
