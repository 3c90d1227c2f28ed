#pragma once
// Compares what the ranks call before they call it (`debug.check_collectives`):
// operation, shape, dtype, reduction or root, group and sequence number, by one more
// small exchange per operation. Without it a mismatch over sockets or NCCL is a hang or
// garbage; shared memory notices the coarse ones by itself, without saying who called.

#include <memory>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// A mismatch is a bug error on every rank that names the first two ranks that differ, what each calls, and
// the place of its calling thread (log.hpp): the actor and its step. When a rank does not come at all, the
// error of those that wait says who they are and for what they wait. `rank`: the global one, for texts.
// Point-to-point messages pass unchecked.
std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator, int rank);

}  // namespace d9d
