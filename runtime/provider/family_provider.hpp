#pragma once
// The built-in models as a ModelProvider. No torch in this header.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/graph/kept_kind.hpp"
#include "runtime/job/section/model_config.hpp"
#include "runtime/model_folder/new_rows.hpp"
#include "runtime/nn/size/stage_layers.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Fine-tuning: what `peft` says, and the folder of the frozen weights (empty: checkpoints hold them).
struct FamilyPeft {
  std::optional<PeftConfig> config;
  std::string source;
};

// What is kept between forward and backward; see BuildOptions.
struct KeptActivations {
  bool checkpointing = false;
  std::int64_t offload_layers = 0;
  std::vector<kernels::KeptKind> checkpoint_keeps = {};
};

// `disk` outlives the provider. `carried`: keys of config.json that an export keeps (carried_keys.hpp); `rows`: those
// of tokens that the folder of the weights does not have.
std::shared_ptr<const ModelProvider> make_family_provider(std::shared_ptr<const FamilyModel> model,
                                                          Dtype dtype, KeptActivations activations,
                                                          StageSplit split, Disk& disk,
                                                          const FamilyPeft& peft = {},
                                                          nlohmann::json carried = nlohmann::json::object(),
                                                          const NewRows& rows = {});

}  // namespace d9d
