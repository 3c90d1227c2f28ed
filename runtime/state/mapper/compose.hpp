#pragma once
// Mappers made of mappers.

#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Puts mappers side by side; empty ones are dropped. Input error: two of them use one input
// or produce one output.
MapperPtr parallel(std::vector<MapperPtr> mappers);

// Runs mappers one after the other. A name that a later mapper needs and no earlier one makes
// is read from the input; a name that later mappers ignore is passed through. Groups that share
// a name anywhere become one. Input error: an empty list, or a name that one mapper consumes
// and a later one needs.
MapperPtr sequential(std::vector<MapperPtr> mappers);

// Keeps the groups whose index in sorted order is `current` modulo `total`: splits work over ranks.
MapperPtr shard(MapperPtr mapper, int total, int current);

// Puts inputs and outputs of `mapper` under prefixes, such as "model." and "".
MapperPtr prefix_scope(MapperPtr mapper, const std::string& source_prefix, const std::string& target_prefix);

// Returns the list without mappers whose groups have no names.
std::vector<MapperPtr> filter_empty(std::vector<MapperPtr> mappers);

}  // namespace d9d
