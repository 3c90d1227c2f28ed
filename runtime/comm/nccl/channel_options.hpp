#pragma once
// The options of a Channel.

#include <chrono>
#include <memory>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/nccl/api.hpp"
#include "runtime/comm/nccl/witnesses.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

struct ChannelOptions {
  const Api& api;
  int device = 0;
  Group group;
  std::chrono::milliseconds timeout;
  std::shared_ptr<Witnesses> witnesses;         // of this rank
  std::shared_ptr<comm::AbortFlag> ended = {};  // of this rank; once set, open() waits no longer
};

}  // namespace d9d::nccl
