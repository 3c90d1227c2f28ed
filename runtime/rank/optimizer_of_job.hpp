#pragma once
// The job's optimizer and gradient sections as the training library's options.

#include <cstdint>

#include "runtime/task/job_config.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/optimizer_options.hpp"

namespace d9d {

OptimizerOptions optimizer_options(const OptimizerConfig& config, std::uint64_t seed);
FlatOptions flat_options(const GradientManagerConfig& config);

}  // namespace d9d
