#pragma once
// What a Channel is made with.

#include <chrono>
#include <memory>

#include "runtime/comm/nccl/api.hpp"
#include "runtime/comm/nccl/witnesses.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

struct ChannelOptions {
  const Api& api;
  int device = 0;
  Group group;
  std::chrono::milliseconds timeout;
  std::shared_ptr<Witnesses> witnesses;  // of this rank
  std::shared_ptr<void> parent = {};     // lives as long
};

}  // namespace d9d::nccl
