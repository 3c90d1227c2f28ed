#pragma once
// Replication: every rank of the given axes holds the whole parameter. Its gradients are summed over these
// axes at the end of a step, not by the module.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/nn/shard/placing.hpp"

namespace d9d {

// Completes the layout of every parameter: adds those of `axes` that it lacks, as replicated. `axes` are
// axes of `mesh`. A parameter that is placed on an axis of another domain does not change.
void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank);

}  // namespace d9d
