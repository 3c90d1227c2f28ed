#pragma once
// The actors of one rank: trainer, stage, loader, metrics, collectives and tensor lanes.

#include <vector>

#include "actors/job/services.hpp"
#include "actors/node.hpp"

namespace d9d {

std::vector<CastMember> make_rank_cast(JobServices& services, const Membership& membership, int rank);

}  // namespace d9d
