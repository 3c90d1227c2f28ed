#pragma once
// Which checkpoint of a run had the lowest loss when it was evaluated.

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "runtime/state/disk.hpp"

namespace d9d {

// The loss of the evaluation that a checkpoint was written right after, from `extra` of its manifest.
std::optional<double> evaluation_loss(const std::string& extra);

// Its step; the older one of two that are equal. Nothing where no checkpoint was evaluated. Those of `damaged_steps`
// and those whose manifest cannot be read do not count.
std::optional<std::uint64_t> best_checkpoint(const Disk& disk, const std::string& directory,
                                             const std::set<std::uint64_t>& damaged_steps);

}  // namespace d9d
