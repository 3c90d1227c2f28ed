#pragma once
// A learning-rate schedule in words.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/train/lr/lr_schedule.hpp"

namespace d9d {

// "0 to 1 linear until step 50, 1 to 0.1 cosine until step 700".
std::string text_of(const PiecewiseLr& lr);

// The first phase that a job of `total_steps` does not see the end of, in words; none where all of them end in it.
std::optional<std::string> cut_phase(const PiecewiseLr& lr, std::int64_t total_steps);

}  // namespace d9d
