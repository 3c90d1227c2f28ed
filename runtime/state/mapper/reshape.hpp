#pragma once
// Mappers of one tensor that keep its name and move its
// dims. dim < 0 counts from the end. Results are contiguous.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

MapperPtr transpose(const std::string& name, std::int64_t dim_a, std::int64_t dim_b);
// Drops the dim when its size is one, else leaves the tensor
// as it is; without `dim` drops all dims of size one.
MapperPtr squeeze(const std::string& name, std::optional<std::int64_t> dim = {});
// Puts in a dim of size one, which is dim `dim` of the result.
MapperPtr unsqueeze(const std::string& name, std::int64_t dim);

}  // namespace d9d
