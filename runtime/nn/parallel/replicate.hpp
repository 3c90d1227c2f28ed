#pragma once
// parallelize_replicate: every rank of the axes holds all of a parameter. Gradients are summed over those
// axes at the end of a step, not by the module.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/nn/parallel/placing.hpp"

namespace d9d {

// Every parameter that lies nowhere yet, on every axis of `axes` (of `mesh`).
void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank);

}  // namespace d9d
