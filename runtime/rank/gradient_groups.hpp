#pragma once
// Over which ranks a rank may have to reduce gradients: known from the mesh and the options alone, so that
// the Collectives are there before any model is. No torch.

#include <string>
#include <vector>

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/plan/parallel_options.hpp"

namespace d9d {

// Only axes of more than one rank. Not both lists are empty.
struct GradientGroup {
  std::string domain;
  std::vector<std::string> scatter;  // first each rank gets the sum of its shard over these
  std::vector<std::string> axes;     // then what is replicated is summed over these
};

// In a fixed order: replicated dense parameters, those of tensor-parallel
// blocks, sharded ones, both, experts. Without repetitions.
std::vector<GradientGroup> gradient_groups(const MeshDomains& domains, const ParallelOptions& options);
// The index of the group whose axes are these, in any order; a bug when there is none.
int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& scatter,
                         const std::vector<std::string>& axes);

}  // namespace d9d
