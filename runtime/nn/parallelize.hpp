#pragma once
// Parallel strategies as functions over a stage's parameters: each sets how they lie over the mesh. Everything else
// (reduction, norm, checkpoint, load, export) derives from these layouts. No torch in this header's functions' bodies.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Every rank of `axes` (of `mesh`) holds all of every parameter. Gradients are summed over those axes at the end of a
// step, not by the module.
void parallelize_replicate(std::vector<StageParameter>& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank);

}  // namespace d9d
