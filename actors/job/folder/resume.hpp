#pragma once
// The Coordinator's side of checkpoints: from which one a start goes on, how one is committed, which ones
// stay.

#include <string>

#include "actors/coordinator_options.hpp"
#include "actors/job/process/process_services.hpp"
#include "actors/node_options.hpp"

namespace d9d {

// `fresh`: the start renames existing checkpoints instead of going on from one (--fresh).
CoordinatorOptions coordinator_options(ProcessServices& process, const NodeOptions& node,
                                       const std::string& tag, bool fresh);

}  // namespace d9d
