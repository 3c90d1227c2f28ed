#pragma once
// One tensor along a new dim <-> several without it. dim < 0 counts from the end. Results are contiguous.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Sources of one shape, in the given order; `dim` is the new dim of the target.
MapperPtr stack(std::vector<std::string> sources, const std::string& target, std::int64_t dim);
// An input error at apply when the source's size along `dim` is not the number of targets.
MapperPtr unstack(const std::string& source, std::vector<std::string> targets, std::int64_t dim);

}  // namespace d9d
