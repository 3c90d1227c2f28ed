#pragma once
// How a stage of a model is built, whatever its family.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct BuildOptions {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Keep only the input of each decoder layer in forward and compute the layer again in backward: the same
  // loss bit for bit, gradients but for the rounding of one sum a layer, a third more work, far less memory.
  bool checkpoint_activations = false;
  // Of so many layers of each stage, the first ones, what backward needs waits in the memory of the host
  // (activation_offload.hpp); they are not computed again. Of a device; the same bits.
  std::int64_t offload_layers = 0;
  StageSplit split = {};  // the same for all stages of a pipeline
};

}  // namespace d9d
