#pragma once
// The costs of a model, counted from its description alone: for `d9d-node check`,
// throughput figures and schedules.

#include <cstdint>
#include <vector>

#include "kernels/graph/kept_kind.hpp"
#include "runtime/nn/block/cache_sizes.hpp"
#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/nn/size/model_description.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct ParameterCounts {
  std::int64_t total = 0;
  std::int64_t active = 0;   // used by one token: all parameters but those of experts that it does not visit
  std::int64_t experts = 0;  // parameters that expert parallelism deals out; included in the total
};
// Count the whole model; one pipeline stage, including its copy of a tied embedding; one layer. `ranks`:
// counts the first rank of tensor parallelism over so many ranks.
ParameterCounts count_parameters(const ModelDescription& model);
ParameterCounts count_parameters(const ModelDescription& model, StagePosition position,
                                 const StageSplit& split = {}, int ranks = 1);
ParameterCounts count_layer_parameters(const ModelDescription& model, std::int64_t layer_index,
                                       int ranks = 1);
// Counts module `depth` of multi-token prediction, from 0.
ParameterCounts count_prediction_parameters(const ModelDescription& model, std::int64_t depth, int ranks = 1);
// Counts the embedding.
std::int64_t count_table_parameters(const ModelDescription& model, int ranks = 1);
// Whether the stage holds a second copy of the embedding (ModelDescription::embeds_on_last_stage).
bool holds_tied_copy(const ModelDescription& model, StagePosition position);

// Floating-point operations of forward and backward for one token of a sequence of `length`. A multiply-add
// counts as two. Only matrix products count: 2 per weight used and token in forward, twice that in
// backward. Causal attention counts the keys that a query sees on average, (length + 1) / 2 without a
// window; a delta net counts the products within a chunk and with the state. The head counts, the embedding
// lookup and recomputation do not.
double training_flops_per_token(const ModelDescription& model, std::int64_t length);
double training_flops_per_token(const ModelDescription& model, std::int64_t length, StagePosition position,
                                const StageSplit& split = {});
// The same for each layer, with the head and multi-token prediction as `post`.
LayerCosts layer_costs(const ModelDescription& model, std::int64_t length);

// Bytes that a stage keeps between forward and backward for one microbatch of `tokens`: the tensors that
// kernels save (layer inputs, projections, attention output and its log-sum-exp, expert activations). Exact
// except for small index tensors. With checkpointing: per layer one hidden state and the results of `keeps`, and
// the activations of one layer during backward. With tensor parallelism: the bytes on one rank, for `tokens` of all
// ranks.
std::int64_t activation_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                              int bytes_per_element, bool checkpoint_activations, int tensor_parallel = 1,
                              const StageSplit& split = {}, const std::vector<kernels::KeptKind>& keeps = {});

// The part of these bytes that the head of the last stage keeps.
std::int64_t head_activation_bytes(const ModelDescription& model, std::int64_t tokens, int bytes_per_element,
                                   int tensor_parallel = 1);

// The part of these bytes that offloading the first layers of the stage moves
// to the host (activation_offload.hpp).
struct OffloadedBytes {
  std::int64_t moved = 0;    // of one microbatch
  std::int64_t passing = 0;  // at a time on the device: one layer computes, one is copied
};
OffloadedBytes offloaded_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                               int bytes_per_element, std::int64_t offload_layers,
                               bool checkpoint_activations, int tensor_parallel = 1,
                               const StageSplit& split = {},
                               const std::vector<kernels::KeptKind>& keeps = {});

// Bytes that a layer of the stage works with at once in forward or backward, beside what is kept: at most.
std::int64_t working_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                           int bytes_per_element, int tensor_parallel = 1, const StageSplit& split = {});
// Bytes of the caches of a stage (generating_stage.hpp) for sequences of this size. With tensor parallelism: on one
// rank. A block of a plugin's family counts if it adds its cache to BlockCosts.
std::int64_t cache_bytes(const ModelDescription& model, StagePosition position, const CacheSize& size,
                         int bytes_per_element, int tensor_parallel = 1, const StageSplit& split = {});
// At most what a stage works with beside them, in a pass of `tokens` new ones of `sequences`.
std::int64_t generating_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                              std::int64_t sequences, int bytes_per_element, int tensor_parallel = 1,
                              const StageSplit& split = {});

}  // namespace d9d
