#pragma once
// Turns compute programs into full programs (reference C.1).

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// Plays all ranks in ascending order, one instruction a visit, and writes each SEND behind its producer and
// at the same instant the RECV into the peer's program. So all programs are projections of one global order:
// the transfers of a pair of ranks come in the same order on both sides, and not
// even blocking transfers can deadlock. Between two stages of one rank there is
// no transfer. A bug error names the heads when nothing can go on (deadlock).
Program insert_communication(const Program& compute, const Topology& topology, int microbatches);

}  // namespace d9d
