#pragma once
// Brings a microbatch to the device that computes it. Needs torch.

#include "runtime/device/device.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"

namespace d9d {

// Copies inputs and shared tensors to the device. The host still knows their integers (device/upload.hpp).
// The state stays on the host, so that a task can read it without a wait.
MicrobatchTensors on_device(MicrobatchTensors given, const Device& device);

}  // namespace d9d
