#pragma once
// What a model costs, counted from its description alone:
// for `d9d-node check`, throughput figures and schedules.

#include <cstdint>

#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/nn/size/model_description.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct ParameterCounts {
  std::int64_t total = 0;
  std::int64_t active =
      0;  // used by one token: num_experts_per_tok experts of a sparse layer, all of the rest
  std::int64_t experts = 0;  // of the total, what expert parallelism deals out
};
// Counts the whole model, or one pipeline stage with its copy of a tied embedding; with
// `ranks`, what the first rank of tensor parallelism holds.
ParameterCounts count_parameters(const ModelDescription& model);
ParameterCounts count_parameters(const ModelDescription& model, StagePosition position,
                                 const StageSplit& split = {}, int ranks = 1);
ParameterCounts count_layer_parameters(const ModelDescription& model, std::int64_t layer_index,
                                       int ranks = 1);
// Of module `depth`, from 0, of multi-token prediction.
ParameterCounts count_prediction_parameters(const ModelDescription& model, std::int64_t depth, int ranks = 1);
// Of the embedding.
std::int64_t count_table_parameters(const ModelDescription& model, int ranks = 1);
// Whether the stage holds a second copy of the embedding (ModelDescription::embeds_on_last_stage).
bool holds_tied_copy(const ModelDescription& model, StagePosition position);

// Floating-point operations of forward and backward for one token of a sequence of `length`, a multiply-add
// as two. Matrix products only: 2 per weight used and token forward, twice that backward; causal attention
// counts the keys a query sees on average, (length + 1) / 2 without a window, a delta net the products within
// a chunk and with the state. No recomputation. The
// embedding lookup is free, the head is not.
double training_flops_per_token(const ModelDescription& model, std::int64_t length);
double training_flops_per_token(const ModelDescription& model, std::int64_t length, StagePosition position,
                                const StageSplit& split = {});
// The same of each layer, and of the head and of multi-token prediction as `post`.
LayerCosts layer_costs(const ModelDescription& model, std::int64_t length);

// Bytes kept between forward and backward for one microbatch of `tokens` on a stage: what the kernels save
// (layer inputs, projections, attention output and its log-sum-exp, expert activations). An estimate, exact
// but for small index tensors. With checkpointing one hidden state per layer is kept, and one layer's
// activations exist during backward. With tensor parallelism: on one of its ranks, `tokens` those of all.
std::int64_t activation_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                              int bytes_per_element, bool checkpoint_activations, int tensor_parallel = 1,
                              const StageSplit& split = {});

// What of that offloading the first layers of the stage moves to the host (activation_offload.hpp), and what a device
// has of them at a time, of whatever microbatch: of two layers, that which computes and that which is copied.
struct OffloadedBytes {
  std::int64_t moved = 0;  // of one microbatch
  std::int64_t passing = 0;
};
OffloadedBytes offloaded_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                               int bytes_per_element, std::int64_t offload_layers,
                               bool checkpoint_activations, int tensor_parallel = 1,
                               const StageSplit& split = {});

}  // namespace d9d
