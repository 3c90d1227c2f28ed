#pragma once
// A learning-rate schedule in words.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/train/lr/lr_schedule.hpp"

namespace d9d {

// Describes the schedule: "0 to 1 linear until step 50, 1 to 0.1 cosine until step 700".
std::string text_of(const PiecewiseLr& lr);

// Describes the first phase that does not end within a job of `total_steps`; none when all phases end.
std::optional<std::string> cut_phase(const PiecewiseLr& lr, std::int64_t total_steps);

}  // namespace d9d
