#pragma once
// The cast: the actors that a node spawns when the job has formed. Only this room includes every actor.

#include <vector>

#include "actors/coordinator_options.hpp"
#include "actors/job/process/epoch_services.hpp"

namespace d9d {

// Nodes other than 0 first check that they see node 0's folders. `process` and `epoch` outlive the actors.
std::vector<CastMember> make_cast(ProcessServices& process, EpochServices& epoch);
// Returns the function that says on which node each actor of the plan lives.
AddressBook::NodeOf node_of_plan(const Plan& plan);
CastMember make_coordinator(CoordinatorOptions options);

}  // namespace d9d
