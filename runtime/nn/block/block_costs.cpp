#include "runtime/nn/block/block_costs.hpp"

#include <algorithm>

#include "runtime/nn/block/cache_sizes.hpp"

namespace d9d {
namespace {

constexpr CacheSize one_token{1, 1};  // of one sequence

}  // namespace

ResultCosts& ResultCosts::operator+=(const ResultCosts& other) {
  own += other.own;
  gathered += other.gathered;
  side_own += other.side_own;
  side_gathered += other.side_gathered;
  return *this;
}

CacheCosts& CacheCosts::operator+=(const CacheCosts& other) {
  of_token += other.of_token;
  of_sequence += other.of_sequence;
  side += other.side;
  return *this;
}

BlockCosts& BlockCosts::operator+=(const BlockCosts& other) {
  parameters += other.parameters;
  experts += other.experts;
  active += other.active;
  products += other.products;
  attended += other.attended;
  carried += other.carried;
  window = std::max(window, other.window);  // a layer has one attention
  causal = causal && other.causal;
  kept_own += other.kept_own;
  kept_gathered += other.kept_gathered;
  side_own += other.side_own;
  side_gathered += other.side_gathered;
  attention_results += other.attention_results;
  linear_results += other.linear_results;
  expert_results += other.expert_results;
  summed += other.summed;
  cached += other.cached;
  if (other.work.own + other.work.gathered > work.own + work.gathered) work = other.work;
  return *this;
}

// Kept: the sum that is normed. The normed state is counted with the block that reads it.
BlockCosts norm_costs(std::int64_t width) {
  BlockCosts costs{.parameters = width, .active = width, .kept_own = width, .side_own = 4};
  costs.work.own = width;
  return costs;
}

// Kept: the gathered input, projections, rotated queries and keys, the attention's output.
BlockCosts attention_costs(const AttentionOptions& options, int ranks) {
  const std::int64_t heads = options.num_heads / ranks;
  const std::int64_t kv_heads =
      options.num_kv_heads % ranks == 0 ? options.num_kv_heads / ranks : options.num_kv_heads;
  const std::int64_t hidden = options.hidden_size;
  const std::int64_t queries = heads * options.head_dim, keys = kv_heads * options.head_dim;
  const std::int64_t values = kv_heads * options.value_head_dim, mixed = heads * options.value_head_dim;
  const std::int64_t gates = options.output_gate ? queries : 0;
  const std::int64_t biases =
      (options.qkv_bias ? queries + gates + keys + values : 0) + (options.output_bias ? hidden : 0) +
      (options.sinks ? heads : 0) +
      (options.position_bias == PositionBias::buckets ? options.bias_buckets * heads : 0);
  BlockCosts costs;
  costs.products = hidden * (queries + gates + keys + values + mixed);
  costs.active = costs.products + biases + (options.qk_norm ? 2 * options.head_dim : 0);
  costs.parameters = costs.active;
  costs.attended = queries + mixed;
  costs.causal = options.causal;
  costs.window = options.window;
  // Norms keep their input; RoPE does not.
  costs.kept_gathered = hidden + (options.qk_norm ? 2 : 1) * (queries + keys) + mixed + values;
  costs.side_gathered = 4 * (heads + (options.qk_norm ? heads + kv_heads : 0));
  if (options.output_gate)
    costs.kept_gathered += gates + 2 * mixed;  // the sigmoid, and the output before the gate
  costs.attention_results = {.gathered = mixed, .side_gathered = 4 * heads};
  costs.linear_results = {.gathered = queries + gates + keys + values};
  // Projections before and after RoPE; values and the output, and copies of them; the gate.
  costs.work.gathered = hidden + 2 * (queries + keys + values + mixed) + gates + 2 * (gates > 0 ? mixed : 0);
  costs.work.side_gathered = costs.side_gathered;
  costs.summed = hidden;
  // Of several ranks that have a head of keys together, each keeps that head.
  const std::int64_t cached_heads = options.num_kv_heads % ranks == 0 ? kv_heads : 1;
  costs.cached.of_token = elements_of(cached_rows(one_token, cached_heads, options.head_dim)) +
                          elements_of(cached_rows(one_token, cached_heads, options.value_head_dim));
  return costs;
}

// Kept: the gathered input; the projections; queries, keys and values after the convolution; the output of
// the delta rule, plain, normed and gated. The convolution is whole on every rank.
BlockCosts delta_net_costs(const DeltaNetOptions& options, int ranks) {
  const std::int64_t key_heads = options.num_key_heads / ranks, heads = options.num_value_heads / ranks;
  const std::int64_t dk = options.key_head_dim, dv = options.value_head_dim;
  const std::int64_t keys = key_heads * dk, values = heads * dv, hidden = options.hidden_size;
  BlockCosts costs;
  costs.products = hidden * (2 * keys + 3 * values + 2 * heads);
  const std::int64_t gate = options.gate == DecayGate::mamba ? 2 * heads : 0;
  costs.active = costs.products + (2 * options.keys() + options.values()) * options.taps + gate + dv;
  costs.parameters = costs.active;
  costs.carried = heads * (3 * dk * dv + delta_chunk * (dk + 2 * dv)) + 2 * delta_chunk * keys;
  costs.kept_gathered = hidden + 4 * keys + 6 * values + 2 * heads;
  costs.side_gathered = 4 * 3 * heads;  // decay, beta, 1 / rms
  costs.work = {.gathered = costs.kept_gathered + values, .side_gathered = costs.side_gathered};
  costs.attention_results = {.gathered = values};
  costs.linear_results = {.gathered = 2 * (keys + values + heads)};
  costs.summed = hidden;
  const std::int64_t of_key_head = values / key_heads;
  costs.cached.of_sequence = 2 * elements_of(cached_inputs(one_token, options.taps, key_heads, dk)) +
                             elements_of(cached_inputs(one_token, options.taps, key_heads, of_key_head));
  costs.cached.side = 4 * elements_of(cached_states(one_token, heads, dk, dv));
  return costs;
}

// Kept: the input; both latents before and after their norms; queries, keys and values per head; the
// attention's output. A rank computes the latents of its own tokens and gathers the others.
BlockCosts latent_attention_costs(const LatentAttentionOptions& options, int ranks) {
  const std::int64_t heads = options.num_heads / ranks, hidden = options.hidden_size;
  const std::int64_t queries = heads * options.head_dim(), mixed = heads * options.value_dim;
  const std::int64_t expanded = heads * (options.plain_dim + options.value_dim);
  const std::int64_t key_latent = options.key_rank + options.rotary_dim;
  const bool latent_queries = options.query_rank > 0;
  BlockCosts costs;
  costs.products = hidden * (key_latent + mixed) + options.key_rank * expanded +
                   (latent_queries ? options.query_rank * (hidden + queries) : hidden * queries);
  costs.active = costs.products + options.key_rank + options.query_rank +
                 (options.bias ? key_latent + options.query_rank + hidden : 0);
  costs.parameters = costs.active;
  costs.attended = queries + mixed;
  costs.kept_own = hidden + options.key_rank + options.query_rank;
  costs.kept_gathered = key_latent + (latent_queries ? options.query_rank : hidden) + 2 * queries + 2 * mixed;
  costs.side_own = latent_queries ? 8 : 4;
  costs.side_gathered = 4 * heads;
  // Heads in parts and put together.
  costs.work = {.own = costs.kept_own, .gathered = costs.kept_gathered + queries, .side_gathered = 4 * heads};
  costs.attention_results = {.gathered = mixed, .side_gathered = 4 * heads};
  costs.linear_results = {.own = key_latent + options.query_rank, .gathered = queries + expanded};
  costs.summed = hidden;
  // Keys and values of every head, not the latents.
  costs.cached.of_token = elements_of(cached_rows(one_token, heads, options.head_dim())) +
                          elements_of(cached_rows(one_token, heads, options.value_dim));
  return costs;
}

// Kept: the gathered input, gate, up and their product.
BlockCosts swiglu_costs(const SwiGluOptions& options, int ranks) {
  const std::int64_t width = (options.intermediate_size + ranks - 1) / ranks, hidden = options.hidden_size;
  const std::int64_t weights = 3 * hidden * width;
  const std::int64_t all = weights + (options.bias ? 2 * width + hidden : 0);
  return {.parameters = all,
          .active = all,
          .products = weights,
          .kept_gathered = hidden + 3 * width,
          .linear_results = {.gathered = 2 * width},
          .work = {.gathered = hidden + 3 * width}};
}

// Kept: the input, gate and up of the chosen experts; router probabilities and routes. Clamped experts also keep a copy
// of the input for each choice, what they multiply with down, and its result.
BlockCosts mixture_costs(const MoeOptions& options, int ranks) {
  const std::int64_t hidden = options.hidden_size, inner = options.intermediate_size;
  const std::int64_t expert = 3 * hidden * inner, router = hidden * options.num_experts;
  const std::int64_t expert_bias = options.clamped ? 2 * inner + hidden : 0;
  const std::int64_t router_bias = options.clamped ? options.num_experts : 0;
  const std::int64_t products = router + options.top_k * expert;
  const std::int64_t of_experts = options.num_experts * (expert + expert_bias);
  BlockCosts costs{.parameters = router + router_bias + of_experts,
                   .experts = of_experts,
                   .active = products + router_bias + options.top_k * expert_bias,
                   .products = products,
                   .kept_own = hidden + options.top_k * 2 * inner,
                   .side_own = 4 * options.num_experts + 32 * options.top_k,
                   .linear_results = {.own = options.num_experts},
                   .expert_results = {.own = options.top_k * 2 * inner,
                                      .side_own = 4 * options.num_experts + 32 * options.top_k},
                   // Rows of all choices: their inputs or results, gate, up and the product.
                   .work = {.own = hidden + options.top_k * (2 * hidden + 3 * inner),
                            .side_own = 4 * options.num_experts + 32 * options.top_k}};
  if (options.clamped) {
    costs.kept_own += options.top_k * (2 * hidden + inner);
    costs.expert_results.own += options.top_k * hidden;
  }
  if (options.shared_intermediate_size == 0) return costs;
  costs += swiglu_costs({options.hidden_size, options.shared_intermediate_size}, ranks);
  if (ranks == 1) costs.kept_gathered -= options.hidden_size;  // the input is the router's too
  // Added up, not the layer's output itself: read as far as kernels can tell.
  costs.expert_results.own += options.hidden_size;
  costs.summed = options.hidden_size;
  if (!options.shared_gate) return costs;
  // Kept: the shared expert's result and the gate's.
  const std::int64_t gate = options.hidden_size;
  costs += {.parameters = gate, .active = gate, .products = gate, .kept_own = options.hidden_size + 1};
  return costs;
}

}  // namespace d9d
