#pragma once
// What alignment adds to the memory of a rank's parameters: gaps in flat buffers (train/flat_parameters.hpp,
// train/frozen_parameters.hpp) and in units that are gathered (tensor/flat_place.hpp). No torch.

#include <cstdint>
#include <vector>

#include "runtime/job/job_load.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

// In units while they are whole.
struct WholeGaps {
  std::int64_t of_two = 0;  // of two units in a row: the most
  std::int64_t of_all = 0;
};

// Elements that no parameter has, on the first rank of each kind of parallelism.
struct FlatGaps {
  std::int64_t trainable = 0;   // beside values, gradients and each of the optimizer's numbers
  std::int64_t frozen = 0;      // beside values
  WholeGaps values, gradients;  // gradients: of what trains
};

// Of a rank that holds these stages of a family's model, without storage. Input error where the mesh cannot split them.
FlatGaps flat_gaps(const LoadedJob& loaded, const std::vector<StagePosition>& stages);

}  // namespace d9d
