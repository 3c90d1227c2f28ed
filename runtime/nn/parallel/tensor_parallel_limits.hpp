#pragma once
// What tensor parallelism asks of a Qwen3 model. No torch.

#include "runtime/nn/qwen3_config.hpp"

namespace d9d {

// Input error where `ranks` do not divide the attention heads, where they neither divide the key heads nor
// are a multiple of them, and where there are fewer words than ranks.
void require_tensor_parallel(const Qwen3Config& config, int ranks);

}  // namespace d9d
