#pragma once
// Checks properties that every program must have, without knowing how it was built. All errors are bugs that
// name the action and the rule that it breaks.

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// Checks every (stage, microbatch): exactly one F on the stage's rank. If anything runs backward, exactly
// one B or I after the F, and one W after the I if and only if there is an I. The first `forwards`
// microbatches must have an F alone. Accepts compute and full programs.
void check_compute(const Program& program, const Topology& topology, int microbatches, int forwards = 0);

// Checks full programs: every transfer between stages of different ranks appears once on each side, after
// its producer and before its consumer; there is none within a rank. The program must end even if each
// transfer blocks both ranks until both have reached it (rendezvous).
void check_communication(const Program& program, const Topology& topology, int microbatches,
                         int forwards = 0);

}  // namespace d9d
