#pragma once
// How fast a step could be under any order that the dynamic cursor may take, however clever: what its figures
// are to be held against. Each sum in its order, each stage within its caps (StageLedger), all times known
// ahead. Not always reachable: it looks at one rank's work at a time, and at the caps of stages alone.

#include "tests/runtime/pipeline/order/order_simulator.hpp"

namespace d9d {

// For every rank the least time that its own actions take on one machine, where an
// action may be interrupted, begins when the longest chain of actions before it has run,
// and is followed by the longest chain after it (J. R. Jackson's preemptive bound for
// one machine with heads and tails); the largest of these. Has the unit of the costs.
double order_bound(const PipelineProgram& program, const OrderCosts& costs, int extra_activations = 0);

}  // namespace d9d
