#pragma once
// The job of every_mesh_test and the models that it trains; with_sizes() puts numbers in place of the words.

#include <algorithm>
#include <string>

#include "runtime/mesh/mesh_parameters.hpp"
#include "tests/support/tiny_job.hpp"

namespace d9d::test {

// A model and a batch that every mesh of so many ranks can divide.
struct Sizes {
  int samples, length, layers, kv_heads, experts;
};
inline Sizes sizes_for(int ranks) {
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  if (power_of_two) return {.samples = 8, .length = 32, .layers = 4, .kv_heads = 4, .experts = 8};
  // Context parallelism cuts a sequence into 2 x ranks chunks.
  return {.samples = 2 * ranks,
          .length = 2 * ranks * std::max(3, 30 / ranks / 2),
          .layers = ranks,
          .kv_heads = ranks,
          .experts = 2 * ranks};
}

inline std::string with_sizes(std::string text, const Sizes& sizes) {
  const auto replace = [&](const std::string& word, int number) {
    for (std::size_t at; (at = text.find(word)) != std::string::npos;) {
      text.replace(at, word.size(), std::to_string(number));
    }
  };
  replace("10_KV_HEADS", 10 * sizes.kv_heads);
  replace("6_KV_HEADS", 6 * sizes.kv_heads);
  replace("2_KV_HEADS", 2 * sizes.kv_heads);
  replace("KV_HEADS", sizes.kv_heads);
  replace("SAMPLES", sizes.samples);
  replace("LAYERS", sizes.layers);
  replace("EXPERTS", sizes.experts);
  return text;
}

inline Words words_of(const DeviceMeshParameters& m) {
  return set("mesh", "{pipeline_parallel: " + std::to_string(m.pipeline_parallel) +
                         ", data_parallel_replicate: " + std::to_string(m.data_parallel_replicate) +
                         ", data_parallel_shard: " + std::to_string(m.data_parallel_shard) +
                         ", context_parallel_replicate: " + std::to_string(m.context_parallel_replicate) +
                         ", context_parallel_shard: " + std::to_string(m.context_parallel_shard) +
                         ", tensor_parallel: " + std::to_string(m.tensor_parallel) +
                         ", expert_parallel: " + std::to_string(m.expert_parallel) + "}");
}

inline constexpr const char* job_template = R"(trainer:
  run: {name: alone}
  batching: {global_batch_size: SAMPLES, microbatch_size: 1}
  schedule: {total_steps: 1}
  determinism: {base_seed: 3}
  gradient_clipping: {max_norm: null}
  checkpointing: {period_steps: last_step}
  logging: {period_steps: 1, expert_load: layers, tracker: {provider: "null"}}
data: {source: tokens, tokens: tokens.npy, labels: labels.npy}
optimizer: {name: sgd, lr: 0.1, momentum: 0.9}
node: {threads_per_rank: 1, trace: false, heartbeat_ms: 10000}
model_provider:
  model:
    hidden_size: 32
    num_hidden_layers: LAYERS
    num_attention_heads: 2_KV_HEADS
    num_key_value_heads: KV_HEADS
    head_dim: 6
    VOCABULARY
    max_position_embeddings: 64
)";

inline constexpr const char* dense_model = R"(    intermediate_size: 10_KV_HEADS
  name: qwen3
)";
inline constexpr const char* llama_model = R"(    intermediate_size: 10_KV_HEADS
    rope_parameters: {rope_type: llama3, factor: 8.0, original_max_position_embeddings: 16}
  name: llama
)";
// Biases wherever the family can have them (MOD-41), and neighbours that turn (MOD-36).
inline constexpr const char* llama_biases_model = R"(    intermediate_size: 10_KV_HEADS
    attention_bias: true
    mlp_bias: true
    rope_interleave: true
    rope_parameters: {rope_type: ntk, factor: 2.0}
  name: llama
)";
// Beside adapters of the same linears the biases stay as they are.
inline constexpr const char* llama_biases_with_adapters = R"(    intermediate_size: 10_KV_HEADS
    mlp_bias: true
  peft:
    kind: stack
    methods:
      - {kind: lora, module_name_pattern: ".*mlp.*_proj", params: {r: 4, alpha: 8}}
      - {kind: full_tune, module_name_pattern: ".*norm"}
  name: llama
)";
inline constexpr const char* moe_model = R"(    moe_intermediate_size: 6_KV_HEADS
    num_experts: EXPERTS
    num_experts_per_tok: 2
    norm_topk_prob: true
  name: qwen3_moe
)";

// Norms and what was added to the linears train; the first gradients of the factors A are zero, as B is.
inline const std::string mixture_with_adapters = std::string(moe_model) + R"(  peft:
    kind: stack
    methods:
      - {kind: lora, module_name_pattern: ".*_proj|lm_head", params: {r: 4, alpha: 8}}
      - {kind: full_tune, module_name_pattern: ".*norm"}
)";
inline constexpr const char* qwen2_moe_model = R"(    intermediate_size: 10_KV_HEADS
    moe_intermediate_size: 6_KV_HEADS
    shared_expert_intermediate_size: 10_KV_HEADS
    num_experts: EXPERTS
    num_experts_per_tok: 2
    use_sliding_window: true
    sliding_window: 9
    max_window_layers: LAYERS
    output_router_logits: true
    router_aux_loss_coef: 0.5
    rope_parameters: {rope_type: longrope, factor: 2.0, original_max_position_embeddings: 28,
                      short_factor: [1.0, 1.0, 1.0], long_factor: [1.0, 2.0, 4.0]}
  name: qwen2_moe
)";

// 61 and 29 rows, so that tensor-parallel ranks hold uneven stretches of both; the special tokens' embeddings
// train without those of the others.
inline constexpr const char* split_vocabulary =
    "split_vocab_size: {special: 29, regular: 61}\n    split_vocab_order: [regular, special]";
inline constexpr const char* dense_model_half_frozen = R"(    intermediate_size: 10_KV_HEADS
  peft: {kind: freeze, module_name_pattern: "model.embed_tokens.regular"}
  name: qwen3
)";

// Every token whose label counts is classified.
inline constexpr const char* classifier_model = R"(    intermediate_size: 10_KV_HEADS
  head: {kind: classification, num_labels: 90}
  name: qwen3
task: {name: classification}
)";

// Latents, a dense layer, groups of experts, a bias that the step moves.
inline constexpr const char* deepseek_v3_model = R"(    intermediate_size: 10_KV_HEADS
    q_lora_rank: 10
    kv_lora_rank: 8
    qk_nope_head_dim: 6
    qk_rope_head_dim: 4
    v_head_dim: 8
    moe_intermediate_size: 6_KV_HEADS
    n_routed_experts: EXPERTS
    n_shared_experts: 2
    num_experts_per_tok: 2
    n_group: 2
    topk_group: 1
    first_k_dense_replace: 1
    router_bias_update_rate: 0.01
  name: deepseek_v3
)";

// The same with modules that predict two tokens more, behind the last stage's layers.
inline const std::string predicting_model =
    std::string("    num_nextn_predict_layers: 2\n    mtp_loss_factor: 0.5\n") + deepseek_v3_model;

inline constexpr const char* qwen3_next_model = R"(    moe_intermediate_size: 6_KV_HEADS
    shared_expert_intermediate_size: 10_KV_HEADS
    num_experts: EXPERTS
    num_experts_per_tok: 2
    full_attention_interval: 2
    rms_norm_eps: 1.0e-3
    partial_rotary_factor: 0.67
    linear_num_key_heads: KV_HEADS
    linear_num_value_heads: 2_KV_HEADS
    linear_key_head_dim: 5
    linear_value_head_dim: 6
    output_router_logits: true
  name: qwen3_next
)";

inline constexpr const char* gemma3_text_model = R"(    intermediate_size: 10_KV_HEADS
    query_pre_attn_scalar: 10
    sliding_window: 9
    sliding_window_pattern: 2
    rope_local_base_freq: 500.0
    final_logit_softcapping: 8.0
  name: gemma3_text
)";

// An encoder. Its heads share hidden_size, and each has keys of its own; words are left out by the sample's number.
inline constexpr const char* modernbert_model = R"(    intermediate_size: 10_KV_HEADS
    local_attention: 9
    global_attn_every_n_layers: 2
    mlp_bias: true
  name: modernbert
task: {name: masked_lm, mask_token_id: 3}
)";
inline constexpr const char* modernbert_with_adapters = R"(    intermediate_size: 10_KV_HEADS
    local_attention: 9
  peft:
    kind: stack
    methods:
      - {kind: lora, module_name_pattern: ".*(q_proj|head.dense)$", params: {r: 4, alpha: 8}}
      - {kind: full_tune, module_name_pattern: ".*norm"}
  name: modernbert
task: {name: masked_lm, mask_token_id: 3}
)";
inline constexpr const char* modernbert_classifier = R"(    intermediate_size: 10_KV_HEADS
    local_attention: 9
  head: {kind: classification, num_labels: 90}
  name: modernbert
task: {name: classification}
)";

// Families of the same blocks as those above.
inline constexpr const char* qwen2_model = R"(    intermediate_size: 10_KV_HEADS
    use_sliding_window: true
    sliding_window: 9
    max_window_layers: 2
  name: qwen2
)";
inline constexpr const char* mistral_model = R"(    intermediate_size: 10_KV_HEADS
    sliding_window: 9
  name: mistral
)";
inline constexpr const char* mixtral_model = R"(    intermediate_size: 6_KV_HEADS
    num_local_experts: EXPERTS
    num_experts_per_tok: 2
    sliding_window: 21
    output_router_logits: true
  name: mixtral
)";

// Sinks, biases wherever the family has them, a limit that clamps some of the values of a model that is not trained.
inline constexpr const char* gpt_oss_model = R"(    intermediate_size: 6_KV_HEADS
    num_local_experts: EXPERTS
    num_experts_per_tok: 2
    sliding_window: 9
    swiglu_limit: 0.1
    output_router_logits: true
    router_aux_loss_coef: 0.5
  name: gpt_oss
)";

// The family of examples/own_model, which a plugin brings: attention beside the feed-forward block, experts in every
// second layer, a loss of its routers.
inline constexpr const char* own_model = R"(    intermediate_size: 10_KV_HEADS
    moe_intermediate_size: 6_KV_HEADS
    num_experts: EXPERTS
    branch_scale: 0.6
    output_router_logits: true
    router_aux_loss_coef: 0.5
  name: parallel_moe
plugins: [)" D9D_BINARY_DIR R"(/tests/e2e/libd9d_own_model_plugin.so]
)";
// Factors of the linears that tensor parallelism cuts by rows, by columns, and not at all.
inline constexpr const char* own_model_with_factors = R"(    intermediate_size: 10_KV_HEADS
    moe_intermediate_size: 6_KV_HEADS
    num_experts: EXPERTS
  peft: {kind: ia3, module_name_pattern: ".*self_attn.*_proj|.*mlp.(gate|up|down)_proj|.*gate|lm_head"}
  name: parallel_moe
plugins: [)" D9D_BINARY_DIR R"(/tests/e2e/libd9d_own_model_plugin.so]
)";

}  // namespace d9d::test
