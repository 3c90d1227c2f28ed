#pragma once
// Over which ranks a rank may have to sum gradients: known from the mesh alone, so that the Collectives are
// there before any model is. No torch.

#include <string>
#include <vector>

#include "runtime/mesh/plan.hpp"

namespace d9d {

struct GradientGroup {
  std::string domain;
  std::vector<std::string> axes;  // of more than one rank
};

// In a fixed order: replicated dense parameters, those of tensor-parallel blocks, fully sharded ones, both,
// experts. Without those of one rank and without repetitions.
std::vector<GradientGroup> gradient_groups(const MeshDomains& domains);
// The index of the group whose axes are these, in any order; a bug when there is none.
int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& axes);

}  // namespace d9d
