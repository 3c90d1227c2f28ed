#pragma once
// The built-in models as a ModelProvider. No torch in this header.

#include <memory>

#include "runtime/nn/model/stage_layers.hpp"
#include "runtime/state/disk.hpp"
#include "runtime/task/model_config.hpp"
#include "runtime/task/model_provider.hpp"

namespace d9d {

// `disk` outlives the provider.
std::shared_ptr<const ModelProvider> make_family_provider(std::shared_ptr<const FamilyModel> model,
                                                          Dtype dtype, bool enable_checkpointing,
                                                          StageSplit split, Disk& disk);

}  // namespace d9d
