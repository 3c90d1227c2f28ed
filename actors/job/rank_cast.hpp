#pragma once
// The actors of one rank: trainer, executor, loader, metrics, collectives and tensor lanes.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "actors/job/epoch_services.hpp"

namespace d9d {

// The services outlive the actors. `resumed`: what each rank left in the checkpoint beside tensors (task,
// tokens, metrics), by the rank's number as a text; an empty object without a checkpoint.
std::vector<CastMember> make_rank_cast(ProcessServices& process, EpochServices& epoch,
                                       const nlohmann::json& resumed, int rank);

}  // namespace d9d
