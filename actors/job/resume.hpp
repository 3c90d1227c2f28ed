#pragma once
// The coordinator's side of checkpoints for a job: where to resume, how to commit, what to keep.

#include <string>

#include "actors/coordinator.hpp"
#include "actors/job/services.hpp"

namespace d9d {

// `fresh`: checkpoints that are there are put aside instead of resumed from.
CoordinatorOptions coordinator_options(JobServices& services, const NodeOptions& node, const std::string& tag,
                                       bool fresh);

}  // namespace d9d
