#pragma once
// Over which ranks a rank may have to reduce gradients: known from the mesh and the options alone, so that
// the Collectives are there before any model is. No torch.

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

// In this order: the groups of replicated dense parameters, of those in tensor-parallel
// blocks, of sharded ones, of both, of experts. No group comes twice.
std::vector<GradientGroup> gradient_groups(const MeshDomains& domains, const ParallelOptions& options);
// The index of the group whose axes are these, in any order; a bug when there is none.
int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& scatter,
                         const std::vector<std::string>& axes);

}  // namespace d9d
