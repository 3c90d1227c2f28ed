#pragma once
// A pipeline stage of a Qwen3 model behind the StageModule interface, without torch's module headers.

#include <memory>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"

namespace d9d {

// As FamilyModel::build_stage.
std::unique_ptr<StageModule> build_qwen3_stage(const Qwen3Config& config, StagePosition position,
                                               const BuildOptions& options = {});

}  // namespace d9d
