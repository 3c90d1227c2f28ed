#include "runtime/nn/model_costs.hpp"

#include <algorithm>

#include "runtime/nn/parallel/tensor_parallel_limits.hpp"

namespace d9d {
namespace {

struct Widths {
  explicit Widths(const Qwen3Config& config)
      : hidden(config.hidden_size),
        queries(config.num_attention_heads * config.head_dim),
        keys(config.num_key_value_heads * config.head_dim) {}
  std::int64_t hidden;
  std::int64_t queries;
  std::int64_t keys;  // of keys, and of values
};

LayerRange layers_of(const Qwen3Config& config, StagePosition position, const StageSplit& split) {
  return layers_of_stages(config, position.num_stages, split).at(static_cast<std::size_t>(position.stage));
}

// Weights that multiply a vector per token: no norms, no biases.
std::int64_t active_matrix_weights(const Qwen3Config& config, std::int64_t layer_index) {
  const Widths w(config);
  const std::int64_t attention = w.hidden * (2 * w.queries + 2 * w.keys);
  if (!config.is_sparse_layer(layer_index)) return attention + 3 * w.hidden * config.intermediate_size;
  return attention + w.hidden * config.num_experts +
         config.num_experts_per_tok * 3 * w.hidden * config.moe_intermediate_size;
}

// Per token what a decoder layer keeps: of tokens of this rank, and of those it gathers from the ranks of
// tensor parallelism.
struct Kept {
  std::int64_t own;
  std::int64_t gathered;

  std::int64_t bytes(std::int64_t tokens, int tensor_parallel) const {
    return tokens / tensor_parallel * own + tokens * gathered;
  }
};

// Elements: two sums and two norms, projections, rotated queries and keys, attention output, then what the
// feed-forward half keeps.
Kept kept_elements(const Qwen3Config& config, std::int64_t layer_index) {
  const Widths w(config);
  const Kept attention{2 * w.hidden, w.hidden + 3 * w.queries + 3 * w.keys};
  if (!config.is_sparse_layer(layer_index)) {
    return {attention.own, attention.gathered + w.hidden + 3 * config.intermediate_size};
  }
  const std::int64_t experts = config.num_experts_per_tok * 2 * config.moe_intermediate_size;
  return {attention.own + w.hidden + experts, attention.gathered};
}

// fp32 and int64 values beside them: norm factors, log-sum-exp, router probabilities, routes.
Kept kept_side_bytes(const Qwen3Config& config, std::int64_t layer_index) {
  const Kept attention{4 * 2, 4 * (2 * config.num_attention_heads + config.num_key_value_heads)};
  if (!config.is_sparse_layer(layer_index)) return attention;
  return {attention.own + 4 * config.num_experts + 32 * config.num_experts_per_tok, attention.gathered};
}

}  // namespace

ParameterCounts count_layer_parameters(const Qwen3Config& config, std::int64_t layer_index) {
  const Widths w(config);
  const std::int64_t norms = 2 * w.hidden + 2 * config.head_dim;
  const std::int64_t biases = config.attention_bias ? w.queries + 2 * w.keys + w.hidden : 0;
  const std::int64_t active = active_matrix_weights(config, layer_index) + norms + biases;
  if (!config.is_sparse_layer(layer_index)) return {active, active};
  const std::int64_t expert = 3 * w.hidden * config.moe_intermediate_size;
  const std::int64_t idle_experts = config.num_experts - config.num_experts_per_tok;
  return {active + idle_experts * expert, active, config.num_experts * expert};
}

ParameterCounts count_parameters(const Qwen3Config& config, StagePosition position, const StageSplit& split) {
  ParameterCounts sum;
  const auto add = [&](ParameterCounts part) {
    sum.total += part.total;
    sum.active += part.active;
    sum.experts += part.experts;
  };
  const LayerRange layers = layers_of(config, position, split);
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer)
    add(count_layer_parameters(config, layer));
  const std::int64_t table = config.vocab_size * config.hidden_size;
  if (position.is_first()) add({table, table});
  if (position.is_last()) add({config.hidden_size, config.hidden_size});
  if (position.is_last() && !config.tie_word_embeddings) add({table, table});
  return sum;
}

ParameterCounts count_parameters(const Qwen3Config& config) {
  return count_parameters(config, StagePosition{});
}

LayerCosts layer_costs(const Qwen3Config& config, std::int64_t length) {
  const double keys_seen = static_cast<double>(length + 1) / 2.0;
  const double attention = 4.0 * keys_seen * static_cast<double>(Widths(config).queries);
  LayerCosts costs;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    costs.layers.push_back(3.0 *
                           (2.0 * static_cast<double>(active_matrix_weights(config, layer)) + attention));
  }
  costs.post = 6.0 * static_cast<double>(config.vocab_size * config.hidden_size);
  return costs;
}

double training_flops_per_token(const Qwen3Config& config, std::int64_t length, StagePosition position,
                                const StageSplit& split) {
  const LayerRange layers = layers_of(config, position, split);
  const LayerCosts costs = layer_costs(config, length);
  double flops = position.is_last() ? costs.post : 0;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    flops += costs.layers[static_cast<std::size_t>(layer)];
  }
  return flops;
}

double training_flops_per_token(const Qwen3Config& config, std::int64_t length) {
  return training_flops_per_token(config, length, StagePosition{});
}

std::int64_t activation_bytes(const Qwen3Config& config, StagePosition position, std::int64_t tokens,
                              int bytes_per_element, bool checkpoint_activations, int tensor_parallel,
                              const StageSplit& split) {
  const LayerRange layers = layers_of(config, position, split);
  const Qwen3Config rank = config_of_tensor_rank(config, tensor_parallel);
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    const std::int64_t bytes = kept_elements(rank, layer).bytes(tokens, tensor_parallel) * bytes_per_element +
                               kept_side_bytes(rank, layer).bytes(tokens, tensor_parallel);
    all += bytes;
    largest = std::max(largest, bytes);
  }
  const std::int64_t state = tokens * config.hidden_size * bytes_per_element;
  const std::int64_t own_state = state / tensor_parallel;
  if (checkpoint_activations) all = layers.size() * own_state + largest;
  // The head keeps the sum, the normed state and its gradient.
  return position.is_last() ? all + own_state + 2 * state : all;
}

}  // namespace d9d
