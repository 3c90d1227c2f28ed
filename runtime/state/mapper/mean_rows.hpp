#pragma once

#include <cstdint>
#include <string>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Extends a tensor that has fewer rows to [rows, ...]: each new row is the mean of the old ones,
// summed in fp32. The dtype stays. Input error for a tensor with more rows.
MapperPtr mean_rows(const std::string& name, std::int64_t rows);

}  // namespace d9d
