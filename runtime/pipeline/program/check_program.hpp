#pragma once
// Properties every program must have, checked without knowing how it was built. All errors are bugs that name
// the action and the rule it breaks.

#include "runtime/pipeline/action.hpp"
#include "runtime/pipeline/program/topology.hpp"

namespace d9d {

// Every (stage, microbatch): exactly one F on its rank; when anything runs backward exactly one B or I,
// behind the F; exactly one W, behind the I, if and only if there is an I. Of the first `forwards` microbatches
// the F alone. Takes compute and full programs.
void check_compute(const Program& program, const Topology& topology, int microbatches, int forwards = 0);

// Full programs: every transfer between stages of different ranks appears once on each side, behind its
// producer and before its consumer, none within a rank; and the program ends even when each transfer blocks
// both of its ranks until the other side has come to it (rendezvous).
void check_communication(const Program& program, const Topology& topology, int microbatches,
                         int forwards = 0);

}  // namespace d9d
