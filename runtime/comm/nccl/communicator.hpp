#pragma once
// The Communicator over a LateChannel: collectives and messages between GPUs.

#include <memory>

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/nccl/late_channel.hpp"
#include "runtime/comm/nccl/watch.hpp"

namespace d9d::nccl {

// `watch` looks at the channel until its last user is gone, which waits for all launches, at most until a deadline.
std::shared_ptr<Channel> watched(std::unique_ptr<Channel> channel, std::shared_ptr<Watch> watch);

// The communicator of `group`, whose ranks are those of the channel. Calls with CPU tensors go to `host`, a
// communicator over the same ranks. Sums are NCCL's: they have the same bits on all ranks, but differ from those
// of the host's backends and from one mesh to another. send() and begin_exchange() keep their tensors until the
// GPU is done. Groups that share a channel fail, and are aborted, together.
std::unique_ptr<Communicator> make_communicator(Group group, std::shared_ptr<LateChannel> channel,
                                                std::unique_ptr<Communicator> host);

}  // namespace d9d::nccl
