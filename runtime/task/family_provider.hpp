#pragma once
// The built-in models as a ModelProvider. No torch in this header.

#include <memory>
#include <optional>
#include <string>

#include "runtime/nn/model/stage_layers.hpp"
#include "runtime/state/disk.hpp"
#include "runtime/task/model_config.hpp"
#include "runtime/task/model_provider.hpp"

namespace d9d {

// Fine-tuning: what `peft` says, and the folder of the frozen weights (empty: checkpoints hold them).
struct FamilyPeft {
  std::optional<PeftConfig> config;
  std::string source;
};

// `disk` outlives the provider.
std::shared_ptr<const ModelProvider> make_family_provider(std::shared_ptr<const FamilyModel> model,
                                                          Dtype dtype, bool enable_checkpointing,
                                                          StageSplit split, Disk& disk,
                                                          const FamilyPeft& peft = {});

}  // namespace d9d
