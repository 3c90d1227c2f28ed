#pragma once
// The Communicator over a Channel: collectives and messages between GPUs.

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/channel.hpp"
#include "runtime/comm/nccl/watch.hpp"

namespace d9d::nccl {

// Tensors of the host go to `host`, over the same ranks. Sums are NCCL's: not the bits of the host's backends, and the
// same on all ranks, but not between two meshes. send() and begin_exchange() keep their tensors until the GPU is done.
// The destructor waits for what was launched, at most until a deadline. `watch` is `watch.get()`'s owner.
std::unique_ptr<Communicator> make_communicator(std::unique_ptr<Channel> channel,
                                                std::unique_ptr<Communicator> host,
                                                std::shared_ptr<Watch> watch);

}  // namespace d9d::nccl
