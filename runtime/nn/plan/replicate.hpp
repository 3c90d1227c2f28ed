#pragma once
// parallelize_replicate: every rank of the axes holds all of a parameter. Gradients are summed over those
// axes at the end of a step, not by the module.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/nn/shard/placing.hpp"

namespace d9d {

// On every axis of `axes` (of `mesh`) on which it does not lie yet: each parameter that lies nowhere, or on
// other axes of `axes` only. One that lies in another domain stays as it is.
void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank);

}  // namespace d9d
