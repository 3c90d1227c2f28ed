#pragma once
// What a Qwen3 model costs, counted from its config alone: for `d9d-node check`, throughput figures and
// schedules.

#include <cstdint>

#include "runtime/nn/layer_distribution.hpp"
#include "runtime/nn/qwen3_config.hpp"
#include "runtime/nn/stage_layers.hpp"

namespace d9d {

struct ParameterCounts {
  std::int64_t total = 0;
  std::int64_t active =
      0;  // used by one token: num_experts_per_tok experts of a sparse layer, all of the rest
  std::int64_t experts = 0;  // of the total, what expert parallelism deals out
};
// Of the whole model, and of one pipeline stage.
ParameterCounts count_parameters(const Qwen3Config& config);
ParameterCounts count_parameters(const Qwen3Config& config, StagePosition position,
                                 const StageSplit& split = {});
ParameterCounts count_layer_parameters(const Qwen3Config& config, std::int64_t layer_index);

// Floating-point operations of forward and backward for one token of a sequence of `length`, a multiply-add
// as two. Matrix products only: 2 per weight used and token forward, twice that backward; causal attention
// counts the (length + 1) / 2 keys a query sees on average. No recomputation. The embedding lookup is free,
// the head is not.
double training_flops_per_token(const Qwen3Config& config, std::int64_t length);
double training_flops_per_token(const Qwen3Config& config, std::int64_t length, StagePosition position,
                                const StageSplit& split = {});
// The same of each layer, and of the head as `post`.
LayerCosts layer_costs(const Qwen3Config& config, std::int64_t length);

// Bytes kept between forward and backward for one microbatch of `tokens` on a stage: what the kernels save
// (layer inputs, projections, attention output and its log-sum-exp, expert activations). An estimate, exact
// but for small index tensors. With checkpointing one hidden state per layer is kept, and one layer's
// activations exist during backward. With tensor parallelism: on one of its ranks, `tokens` those of all.
std::int64_t activation_bytes(const Qwen3Config& config, StagePosition position, std::int64_t tokens,
                              int bytes_per_element, bool checkpoint_activations, int tensor_parallel = 1,
                              const StageSplit& split = {});

}  // namespace d9d
