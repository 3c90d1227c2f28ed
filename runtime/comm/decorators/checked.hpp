#pragma once
// Compares the calls of all ranks before each collective (`debug.check_collectives`): operation, shape,
// dtype, reduction or root, group and sequence number. Costs one more small exchange per operation.
// Without this decorator a mismatch over sockets or NCCL is a hang or garbage; shared memory notices
// most mismatches itself, but cannot name the callers.

#include <memory>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// Throws a bug error on every rank when calls differ. The error names the first two ranks that differ,
// their calls, and the place of each calling thread (log_place.hpp): its actor and step. If a rank does
// not call at all, the errors of the waiting ranks say who waits and with which call. `rank`: the
// global one, for texts. Does not check point-to-point messages.
std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator, int rank);

}  // namespace d9d
