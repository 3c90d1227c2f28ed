#pragma once
// Mappers made of mappers.

#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Side by side. An input error when two children use one
// input or produce one output. Empty children are dropped.
MapperPtr parallel(std::vector<MapperPtr> mappers);

// One after the other. Names that a later mapper needs and an earlier one does not make are pulled from the
// input; names that a later mapper ignores are passed through. Groups that share a name anywhere on the way
// become one. An input error for an empty list, or when a name is consumed early but needed later.
MapperPtr sequential(std::vector<MapperPtr> mappers);

// The groups whose index in sorted order is `current` modulo `total`: splits work over ranks.
MapperPtr shard(MapperPtr mapper, int total, int current);

// Inputs and outputs of `mapper` under prefixes, such as "model." and "".
MapperPtr prefix_scope(MapperPtr mapper, const std::string& source_prefix, const std::string& target_prefix);

// The list without mappers whose groups name nothing.
std::vector<MapperPtr> filter_empty(std::vector<MapperPtr> mappers);

}  // namespace d9d
