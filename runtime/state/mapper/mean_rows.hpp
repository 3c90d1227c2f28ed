#pragma once

#include <cstdint>
#include <string>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// A tensor [rows, ...] of fewer rows gets more at its end, each the mean (summed in fp32) of those it has; its dtype
// stays. Input error for one that has more.
MapperPtr mean_rows(const std::string& name, std::int64_t rows);

}  // namespace d9d
