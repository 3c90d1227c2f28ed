#pragma once
// One tensor <-> several along an existing dim. dim < 0 counts from the end. Results are contiguous.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Joins sources in the given order; they must agree in all other dims.
MapperPtr concatenate(std::vector<std::string> sources, const std::string& target, std::int64_t dim);
struct NamedSize {
  std::string name;
  std::int64_t size = 0;
};
// Cuts a source into pieces of these sizes. Input error at apply if they do not add
// up to the source.
MapperPtr cut(const std::string& source, std::vector<NamedSize> targets, std::int64_t dim);
// Cuts a source into pieces of ceil(size / number of targets), the last one shorter, as torch.chunk
// does. Input error at apply if that makes another number of pieces than targets.
MapperPtr chunk(const std::string& source, std::vector<std::string> targets, std::int64_t dim);

}  // namespace d9d
