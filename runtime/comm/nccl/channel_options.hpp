#pragma once
// What a Channel is made with.

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
  std::shared_ptr<comm::AbortFlag> ended = {};  // of this rank: ends what waits for members to come
};

}  // namespace d9d::nccl
