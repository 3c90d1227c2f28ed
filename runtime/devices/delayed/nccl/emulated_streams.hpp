#pragma once
// The half of the emulated table that is CUDA's: streams and events of delayed devices.

#include "runtime/comm/nccl/api.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::nccl {

// What an emulated Stream points to.
struct EmulatedStream {
  int device = 0;
  int number = 0;
  delayed::Machine& machine() const { return delayed::machine(device); }
};

void fill_emulated_streams(Api& api);

}  // namespace d9d::nccl
