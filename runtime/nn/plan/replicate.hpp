#pragma once
// parallelize_replicate: every rank of the given axes holds the whole parameter. The end of a step sums its
// gradients over these axes; the module does not.

#include <string>
#include <vector>

#include "runtime/mesh/mesh.hpp"
#include "runtime/nn/shard/placing.hpp"

namespace d9d {

// Adds the missing axes of `axes` (axes of `mesh`) as replicated to every parameter that no strategy
// has placed yet, or only on some of `axes`. A parameter with an axis of another domain stays as it is.
void parallelize_replicate(StageParameters& parameters, const Mesh& mesh,
                           const std::vector<std::string>& axes, int rank);

}  // namespace d9d
