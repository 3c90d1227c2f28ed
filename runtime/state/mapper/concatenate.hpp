#pragma once
// One tensor <-> several along an existing dim. dim < 0 counts from the end. Results are contiguous.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// In the given order; the sources agree in all other dims.
MapperPtr concatenate(std::vector<std::string> sources, const std::string& target, std::int64_t dim);
struct NamedSize {
  std::string name;
  std::int64_t size = 0;
};
// Pieces of these sizes one after the other; an input error at apply when they are not the whole source.
MapperPtr cut(const std::string& source, std::vector<NamedSize> targets, std::int64_t dim);
// Pieces of ceil(size / number of targets), the last one shorter, as torch.chunk; an input error at apply
// when that gives another number of pieces than targets.
MapperPtr chunk(const std::string& source, std::vector<std::string> targets, std::int64_t dim);

}  // namespace d9d
