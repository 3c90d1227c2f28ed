#pragma once
// The groups of ranks over which a rank may have to reduce gradients. They follow from mesh and options
// alone, so that the Collectives can be made before the model. No torch.

#include <string>
#include <vector>

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/parallel_options.hpp"

namespace d9d {

// Only axes of more than one rank. At most one of the lists is empty.
struct GradientGroup {
  std::string domain;
  std::vector<std::string> scatter;  // first each rank gets the sum of its shard over these
  std::vector<std::string> axes;     // then what is replicated is summed over these
};

// Returns the groups in this order: for replicated dense parameters, for those in tensor-parallel blocks,
// for sharded ones, for both, for experts. No group comes twice.
std::vector<GradientGroup> gradient_groups(const MeshDomains& domains, const ParallelOptions& options);
// Returns the index of the group with these axes, in any order. It is a bug when there is none.
int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& scatter,
                         const std::vector<std::string>& axes);

}  // namespace d9d
