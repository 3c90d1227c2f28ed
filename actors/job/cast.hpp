#pragma once
// The cast: who is spawned on a node once the job has formed. Only this and rank_cast include every actor.

#include <vector>

#include "actors/coordinator_options.hpp"
#include "actors/job/epoch_services.hpp"

namespace d9d {

// Both outlive the actors. On nodes other than 0 it first proves that the folders here are node 0's.
std::vector<CastMember> make_cast(ProcessServices& process, EpochServices& epoch);
// Where every actor of the plan lives.
AddressBook::NodeOf node_of_plan(const Plan& plan);
CastMember make_coordinator(CoordinatorOptions options);

}  // namespace d9d
