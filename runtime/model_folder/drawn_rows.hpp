#pragma once

#include <cstdint>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// A tensor [rows, ...] of fewer rows than `parameter` gets more at its end, those that it would begin with
// if all of it were drawn by this seed; fp32, so that they are rounded once. Input error for one that has more.
MapperPtr drawn_rows(const StageParameter& parameter, std::uint64_t seed);

}  // namespace d9d
