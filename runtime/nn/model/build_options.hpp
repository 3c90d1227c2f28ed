#pragma once
// How a stage of a model is built, whatever its family.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "kernels/graph/kept_results.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct BuildOptions {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Keep only the input of each decoder layer in forward and compute the layer again in backward.
  // Loss and gradients are the same bit for bit.
  // Up to a third more work, far less memory.
  bool checkpoint_activations = false;
  // Keep the results of these ops, too, and do not compute them again. Results are the same to the bit.
  kernels::KeptKinds checkpoint_keeps = {};
  // The first layers of each stage, this many, keep their saved tensors in the memory of the
  // host until backward (activation_offload.hpp) and are not computed again. For devices only.
  // Results are the same to the bit.
  std::int64_t offload_layers = 0;
  StageSplit split = {};  // the same for all stages of a pipeline
};

}  // namespace d9d
