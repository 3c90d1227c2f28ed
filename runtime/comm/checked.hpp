#pragma once
// Compares what the ranks call before they call it (`debug.check_collectives`): costs one more small exchange
// per operation. Without it a mismatch over Gloo or NCCL is a hang or garbage. Shared memory checks always
// and needs none.

#include <memory>

#include "runtime/comm/communicator.hpp"

namespace d9d {

// A mismatch is a bug error on every rank; it names the ranks (positions in the group) and what they call.
// Point-to-point messages pass unchecked.
std::unique_ptr<Communicator> make_checked(std::unique_ptr<Communicator> communicator);

}  // namespace d9d
