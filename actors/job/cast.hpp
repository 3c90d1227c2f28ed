#pragma once
// The cast: who plays on a node once the job has formed. A pure
// list of spawns; the only file that includes every actor.

#include <vector>

#include "actors/coordinator.hpp"
#include "actors/job/services.hpp"
#include "actors/node.hpp"

namespace d9d {

// `services` outlives the actors. Makes the plan and the communicators of this epoch.
std::vector<CastMember> make_cast(JobServices& services, const Membership& membership);
// Where every actor of the plan lives.
AddressBook::NodeOf node_of_plan(const Plan& plan);
CastMember make_coordinator(CoordinatorOptions options);

}  // namespace d9d
