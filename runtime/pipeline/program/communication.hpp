#pragma once
// Turns compute programs into full programs (reference C.1).

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// Adds SEND and RECV. Plays all ranks in ascending order, one instruction per visit. Writes each SEND
// after its producer and, at the same time, the RECV into the peer's program. So all programs are
// projections of one global order: two ranks have their transfers in the same order, and even blocking
// transfers cannot deadlock. Two stages of one rank have no transfer between them. On a deadlock it throws
// a bug error that names the heads of all ranks.
Program insert_communication(const Program& compute, const Topology& topology, int microbatches);

}  // namespace d9d
