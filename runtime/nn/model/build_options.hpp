#pragma once
// How a stage of a model is built, whatever its family.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct BuildOptions {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Keep only the input of each decoder layer in forward and compute the layer again in backward.
  // The loss is the same bit for bit; gradients differ by the rounding of one sum per layer. A
  // third more work, far less memory.
  bool checkpoint_activations = false;
  // The first layers of each stage, this many, keep their saved tensors in the memory of the
  // host until backward (activation_offload.hpp) and are not computed again. For devices only.
  // Results are the same to the bit.
  std::int64_t offload_layers = 0;
  StageSplit split = {};  // the same for all stages of a pipeline
};

}  // namespace d9d
