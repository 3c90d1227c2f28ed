#pragma once
// The coordinator's side of checkpoints for a job: where to resume, how to commit, what to keep.

#include <string>

#include "actors/coordinator_options.hpp"
#include "actors/job/process_services.hpp"
#include "actors/node_options.hpp"

namespace d9d {

// `fresh`: checkpoints that are there are put aside instead of resumed from.
CoordinatorOptions coordinator_options(ProcessServices& process, const NodeOptions& node,
                                       const std::string& tag, bool fresh);

}  // namespace d9d
