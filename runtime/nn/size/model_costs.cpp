#include "runtime/nn/size/model_costs.hpp"

#include <algorithm>

namespace d9d {
namespace {

using kernels::KeptKind;

LayerRange layers_of(const ModelDescription& model, StagePosition position, const StageSplit& split) {
  return layers_of_stages(model, position.num_stages, split).at(static_cast<std::size_t>(position.stage));
}

std::int64_t bytes_of(const ResultCosts& kept, std::int64_t tokens, int bytes_per_element, int ranks) {
  const std::int64_t own = tokens / ranks;
  return (own * kept.own + tokens * kept.gathered) * bytes_per_element + own * kept.side_own +
         tokens * kept.side_gathered;
}

// Bytes that one rank of tensor parallelism keeps in a decoder layer for `tokens` of all ranks.
std::int64_t kept_bytes(const BlockCosts& layer, std::int64_t tokens, int bytes_per_element, int ranks) {
  return bytes_of({layer.kept_own, layer.kept_gathered, layer.side_own, layer.side_gathered}, tokens,
                  bytes_per_element, ranks);
}

// Bytes that it keeps in a checkpointed layer.
std::int64_t checkpointed_bytes(const BlockCosts& layer, std::int64_t width, std::int64_t tokens,
                                int bytes_per_element, int ranks, const std::vector<KeptKind>& keeps) {
  const auto has = [&](KeptKind kind) { return std::find(keeps.begin(), keeps.end(), kind) != keeps.end(); };
  ResultCosts all{.own = width};
  if (has(KeptKind::attention)) all += layer.attention_results;
  if (has(KeptKind::linear)) all += layer.linear_results;
  if (has(KeptKind::experts)) all += layer.expert_results;
  // Summands of several ranks are kept only where the sum is not.
  const bool keeps_sums = has(KeptKind::exchange) && ranks > 1;
  if (keeps_sums || (has(KeptKind::linear) && ranks == 1)) all.own += layer.summed;
  if (has(KeptKind::linear) && ranks > 1 && !keeps_sums) all.gathered += layer.summed;
  return bytes_of(all, tokens, bytes_per_element, ranks);
}

// The number of keys that a query of a sequence sees on average.
double keys_seen(std::int64_t length, const BlockCosts& layer) {
  // Up to and with its own, of which there are `most` or fewer.
  const auto up_to_own = [length](std::int64_t most) {
    if (most == length) return static_cast<double>(length + 1) / 2.0;
    return static_cast<double>(most) -
           static_cast<double>(most * (most - 1)) / (2.0 * static_cast<double>(length));
  };
  const bool limited = layer.window > 0 && layer.window < length;
  if (layer.causal) return up_to_own(limited ? layer.window : length);
  return 2 * up_to_own(limited ? layer.window + 1 : length) - 1;
}

}  // namespace

ParameterCounts count_layer_parameters(const ModelDescription& model, std::int64_t layer_index, int ranks) {
  const BlockCosts layer = model.layer(layer_index, ranks);
  return {layer.parameters, layer.active, layer.experts};
}

ParameterCounts count_prediction_parameters(const ModelDescription& model, std::int64_t depth, int ranks) {
  ParameterCounts counts = count_layer_parameters(model, model.num_hidden_layers + depth, ranks);
  const std::int64_t width = model.hidden_size;
  counts.total += 2 * width * width + 3 * width;
  counts.active += 2 * width * width + 3 * width;
  return counts;
}

bool holds_tied_copy(const ModelDescription& model, StagePosition position) {
  return model.embeds_on_last_stage() && position.is_last() && !position.is_first();
}

std::int64_t count_table_parameters(const ModelDescription& model, int ranks) {
  return (model.vocab_size + ranks - 1) / ranks * model.hidden_size;
}

ParameterCounts count_parameters(const ModelDescription& model, StagePosition position,
                                 const StageSplit& split, int ranks) {
  ParameterCounts sum;
  const auto add = [&](ParameterCounts part) {
    sum.total += part.total;
    sum.active += part.active;
    sum.experts += part.experts;
  };
  const LayerRange layers = layers_of(model, position, split);
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer)
    add(count_layer_parameters(model, layer, ranks));
  const std::int64_t table = count_table_parameters(model, ranks);
  if (position.is_first()) add({table, table});
  if (position.is_first() && model.norms_embeddings) add({model.hidden_size, model.hidden_size});
  if (holds_tied_copy(model, position)) add({table, table});
  if (position.is_last()) add({model.hidden_size, model.hidden_size});
  if (position.is_last()) add({model.head_parameters(ranks), model.head_parameters(ranks)});
  for (std::int64_t depth = 0; position.is_last() && depth < model.prediction_depths; ++depth)
    add(count_prediction_parameters(model, depth, ranks));
  return sum;
}

ParameterCounts count_parameters(const ModelDescription& model) {
  return count_parameters(model, StagePosition{});
}

LayerCosts layer_costs(const ModelDescription& model, std::int64_t length) {
  const auto cost_of = [&](std::int64_t index) {
    const BlockCosts layer = model.layer(index);
    const double attention = 2.0 * keys_seen(length, layer) * static_cast<double>(layer.attended);
    return 3.0 * (2.0 * static_cast<double>(layer.products + layer.carried) + attention);
  };
  LayerCosts costs;
  for (std::int64_t index = 0; index < model.num_hidden_layers; ++index)
    costs.layers.push_back(cost_of(index));
  const double head =
      6.0 * static_cast<double>(model.head_parameters() +
                                (model.ties_head() ? model.vocab_size * model.hidden_size : 0));
  const double joined = 12.0 * static_cast<double>(model.hidden_size * model.hidden_size);
  costs.post = head;
  for (std::int64_t index = model.num_hidden_layers; index < model.num_all_layers(); ++index)
    costs.post += joined + cost_of(index) + head;
  return costs;
}

double training_flops_per_token(const ModelDescription& model, std::int64_t length, StagePosition position,
                                const StageSplit& split) {
  const LayerRange layers = layers_of(model, position, split);
  const LayerCosts costs = layer_costs(model, length);
  double flops = position.is_last() ? costs.post : 0;
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    flops += costs.layers[static_cast<std::size_t>(layer)];
  }
  return flops;
}

double training_flops_per_token(const ModelDescription& model, std::int64_t length) {
  return training_flops_per_token(model, length, StagePosition{});
}

std::int64_t activation_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                              int bytes_per_element, bool checkpoint_activations, int tensor_parallel,
                              const StageSplit& split, const std::vector<KeptKind>& keeps) {
  const LayerRange layers = layers_of(model, position, split);
  const std::int64_t depths = position.is_last() ? model.prediction_depths : 0;
  std::int64_t all = 0;
  std::int64_t largest = 0;
  const auto add = [&](std::int64_t index) {
    const BlockCosts layer = model.layer(index, tensor_parallel);
    const std::int64_t bytes = kept_bytes(layer, tokens, bytes_per_element, tensor_parallel);
    all += checkpoint_activations ? checkpointed_bytes(layer, model.hidden_size, tokens, bytes_per_element,
                                                       tensor_parallel, keeps)
                                  : bytes;
    largest = std::max(largest, bytes);
  };
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) add(layer);
  for (std::int64_t depth = 0; depth < depths; ++depth) add(model.num_hidden_layers + depth);
  if (checkpoint_activations) all += largest;
  if (position.is_first() && model.norms_embeddings)
    all += tokens * model.hidden_size * bytes_per_element / tensor_parallel;
  return position.is_last() ? all + head_activation_bytes(model, tokens, bytes_per_element, tensor_parallel)
                            : all;
}

std::int64_t head_activation_bytes(const ModelDescription& model, std::int64_t tokens, int bytes_per_element,
                                   int tensor_parallel) {
  const std::int64_t state = tokens * model.hidden_size * bytes_per_element, depths = model.prediction_depths;
  const std::int64_t own_state = state / tensor_parallel;
  // Of norm(gelu(dense x)) the inputs of each are kept.
  const bool transforms = model.head_transform.wanted && model.has_language_model_head();
  // A head keeps the sum, the normed state and its gradient, which is not narrower than float32; before a layer of
  // multi-token prediction both inputs and the normed ones are kept.
  const std::int64_t gradient = tokens * model.hidden_size * std::max(4, bytes_per_element);
  return (transforms ? 3 * own_state : 0) + (1 + depths) * (own_state + state + gradient) +
         depths * 4 * own_state;
}

// Offloaded layers are not computed again.
OffloadedBytes offloaded_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                               int bytes_per_element, std::int64_t offload_layers,
                               bool checkpoint_activations, int tensor_parallel, const StageSplit& split,
                               const std::vector<KeptKind>& keeps) {
  const LayerRange layers = layers_of(model, position, split);
  const std::int64_t end = std::min(layers.end, layers.begin + offload_layers);
  OffloadedBytes bytes;
  for (std::int64_t index = layers.begin; index < end; ++index) {
    const BlockCosts layer = model.layer(index, tensor_parallel);
    const std::int64_t kept = kept_bytes(layer, tokens, bytes_per_element, tensor_parallel);
    bytes.moved += checkpoint_activations ? checkpointed_bytes(layer, model.hidden_size, tokens,
                                                               bytes_per_element, tensor_parallel, keeps)
                                          : kept;
    bytes.passing = std::max(bytes.passing, (layers.begin + 1 < end ? 2 : 1) * kept);
  }
  return bytes;
}

std::int64_t cache_bytes(const ModelDescription& model, StagePosition position, const CacheSize& size,
                         int bytes_per_element, int tensor_parallel, const StageSplit& split) {
  const LayerRange layers = layers_of(model, position, split);
  std::int64_t of_sequence = 0;
  for (std::int64_t index = layers.begin; index < layers.end; ++index) {
    const CacheCosts cached = model.layer(index, tensor_parallel).cached;
    of_sequence += (cached.of_token * size.tokens + cached.of_sequence) * bytes_per_element + cached.side;
  }
  return size.sequences * of_sequence;
}

std::int64_t working_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                           int bytes_per_element, int tensor_parallel, const StageSplit& split) {
  const LayerRange layers = layers_of(model, position, split);
  std::int64_t largest = 0;
  for (std::int64_t index = layers.begin; index < layers.end; ++index)
    largest = std::max(largest, bytes_of(model.layer(index, tensor_parallel).work, tokens, bytes_per_element,
                                         tensor_parallel));
  return largest;
}

// Without gradients a layer's results go with it; the hidden states before and behind it, and normed ones of both
// halves, stay, and so do cosines and sines of positions, in two tables where windows have one of their own. The last
// stage has logits of each sequence's last token, and of these copies in float32.
std::int64_t generating_bytes(const ModelDescription& model, StagePosition position, std::int64_t tokens,
                              std::int64_t sequences, int bytes_per_element, int tensor_parallel,
                              const StageSplit& split) {
  const std::int64_t state = tokens * model.hidden_size * bytes_per_element / tensor_parallel;
  const std::int64_t tables = tokens * (model.window_rope ? 4 : 2) * model.head_widths().keys * 4;
  const std::int64_t logits =
      position.is_last() ? sequences * model.vocab_size * (bytes_per_element + 2 * 4) : 0;
  return 5 * state + tables +
         std::max(working_bytes(model, position, tokens, bytes_per_element, tensor_parallel, split), logits);
}

}  // namespace d9d
