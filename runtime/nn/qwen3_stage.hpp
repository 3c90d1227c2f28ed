#pragma once
// The factory a job uses: a pipeline stage of a Qwen3 model behind the StageModule interface, without torch's
// module headers.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <memory>

#include "runtime/nn/layer_distribution.hpp"
#include "runtime/nn/qwen3_config.hpp"
#include "runtime/nn/stage_layers.hpp"

namespace d9d {

class StageModule;

struct Qwen3Options {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Keep only the input of each decoder layer in forward and compute the layer again in backward: the same
  // loss bit for bit, gradients but for the rounding of one sum a layer, a third more work, far less memory.
  bool checkpoint_activations = false;
  StageSplit split = {};  // the same for all stages of a pipeline
};

// Parameters are uninitialised (see late_init.hpp). Input error for an impossible config, for more stages
// than layers and for tied embeddings over more than one stage.
std::unique_ptr<StageModule> build_qwen3_stage(const Qwen3Config& config, StagePosition position,
                                               const Qwen3Options& options = {});

}  // namespace d9d
