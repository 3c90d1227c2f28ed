#pragma once
// What tensor parallelism asks of a Qwen3 model, and what it leaves to a rank. No torch.

#include "runtime/nn/qwen3_config.hpp"

namespace d9d {

// Input error where `ranks` do not divide the attention heads, where they neither divide the key heads nor
// are a multiple of them, and where there are fewer words, or columns of a dense layer, than ranks.
void require_tensor_parallel(const Qwen3Config& config, int ranks);

// The sizes that a rank (the first, where they differ by one) holds the parameters of.
Qwen3Config config_of_tensor_rank(const Qwen3Config& config, int ranks);

}  // namespace d9d
