#pragma once
// The actors of one rank: trainer, executor, loader, metrics, collectives and tensor lanes.

#include <vector>

#include "actors/job/epoch_services.hpp"

namespace d9d {

// Both outlive the actors.
std::vector<CastMember> make_rank_cast(ProcessServices& process, EpochServices& epoch, int rank);

}  // namespace d9d
