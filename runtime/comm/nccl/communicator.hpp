#pragma once
// The Communicator over a Channel: collectives and messages between GPUs.

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/channel.hpp"
#include "runtime/comm/nccl/watch.hpp"

namespace d9d::nccl {

// Calls with CPU tensors go to `host`, a communicator over the same ranks. Sums are NCCL's: they have
// the same bits on all ranks, but differ from those of the host's backends and from one mesh to
// another. send() and begin_exchange() keep their tensors until the GPU is done. The destructor waits
// for all launches, at most until a deadline. `watch` looks at the channel until then.
std::unique_ptr<Communicator> make_communicator(std::unique_ptr<Channel> channel,
                                                std::unique_ptr<Communicator> host,
                                                std::shared_ptr<Watch> watch);

}  // namespace d9d::nccl
