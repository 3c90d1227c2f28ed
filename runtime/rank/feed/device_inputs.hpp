#pragma once
// Brings a microbatch to the device that computes it. Needs torch.

#include "runtime/device/device.hpp"
#include "runtime/pipeline/stage/stage_core_options.hpp"

namespace d9d {

// Inputs and shared tensors as they are on the device; the host goes on knowing their integers (device/upload.hpp).
// The state stays on the host: it is what a task wants to know without a wait.
MicrobatchTensors on_device(MicrobatchTensors given, const Device& device);

}  // namespace d9d
