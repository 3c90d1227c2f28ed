#pragma once
// NCCL and CUDA between delayed devices of one host's processes: what runs a job's NCCL communicators where no GPU is.
// A collective is work on a stream of its own of each rank's device. It ends when all members have read what they need,
// and never where their calls do not match. Strict where NCCL may be lucky: a device runs the collectives of all its
// groups in the order of their launches, and a message that is not part of a group call waits for its receiver. Sums
// are those of comm/reduce.hpp: the bits of ranks of the CPU.

#include <optional>

#include "runtime/comm/nccl/api.hpp"

namespace d9d::nccl {

const Api& emulated_nccl();

// For tests: the launch with this number (from 1) of a device never ends, or NCCL reports an internal error there. At
// the start of the process what D9D_NCCL_FAULT says: "hang:DEVICE:LAUNCH" or "error:DEVICE:LAUNCH".
struct EmulatedFault {
  enum class Kind { hang, error } kind = Kind::hang;
  int device = 0;
  int launch = 1;  // from the call of plant_fault() on
};
void plant_fault(std::optional<EmulatedFault> fault);

}  // namespace d9d::nccl
